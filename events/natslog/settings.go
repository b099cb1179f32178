package natslog

import (
	"slices"
	"time"

	"github.com/nats-io/nats.go/jetstream"
)

// The streams.
const (
	streamEvents     = "EVENTS"
	streamKeys       = "KEYS"
	streamQuarantine = "QUARANTINE"
	streamLedger     = "LEDGER"

	prefixKeys       = "annals-keys."
	prefixQuarantine = "annals-quarantine."
	prefixLedger     = "annals-ledger."
)

const (
	defaultDuplicateWindow = 2 * time.Minute
	quarantineAge          = 15 * time.Minute
	// rowVersions is how many messages a row's subject may hold: one, and for
	// a moment its successor. It is far larger, since a message that a limit
	// removes stays in its block file, so the limit must never be reached. A
	// limit at all makes the server use blocks of half the size, which halves
	// the cost of a secure deletion.
	rowVersions = 1024
	// commitsEach is how many messages a subject of the log may hold: far more than
	// there can be. It is there for the size of the blocks alone, as above. Logs that
	// were made before have no such limit.
	commitsEach = 1 << 48
	noLimit     = -1
)

// base is what all streams share: nothing that lets a publisher, or time, take
// a message away.
func base(name, subject string, c Config) jetstream.StreamConfig {
	return jetstream.StreamConfig{
		Name: name, Subjects: []string{subject},
		Retention: jetstream.LimitsPolicy, Storage: jetstream.FileStorage,
		MaxConsumers: noLimit, MaxMsgs: noLimit, MaxBytes: noLimit, MaxMsgsPerSubject: noLimit, MaxMsgSize: noLimit,
		Discard: jetstream.DiscardNew, Replicas: c.Replicas, Duplicates: c.DuplicateWindow,
		AllowDirect: true, DenyPurge: true, Compression: jetstream.NoCompression,
	}
}

func settings(c Config) []jetstream.StreamConfig {
	log := base(streamEvents, "annals.>", c)
	log.AllowAtomicPublish, log.MaxMsgsPerSubject = true, commitsEach
	keys := base(streamKeys, prefixKeys+">", c)
	keys.AllowAtomicPublish, keys.MaxMsgsPerSubject = true, rowVersions
	quarantine := base(streamQuarantine, prefixQuarantine+">", c)
	quarantine.MaxAge = quarantineAge
	ledger := base(streamLedger, prefixLedger+">", c)
	ledger.DenyDelete = true
	return []jetstream.StreamConfig{log, keys, quarantine, ledger}
}

// wrongSetting is the name of the first setting of got that is not as wanted,
// "" if there is none. Descriptions, metadata and placement are the operator's.
func wrongSetting(got, want jetstream.StreamConfig) string {
	checks := []struct {
		name string
		same bool
	}{
		{"subjects", slices.Equal(got.Subjects, want.Subjects)},
		{"retention", got.Retention == want.Retention},
		{"storage", got.Storage == want.Storage},
		{"num_replicas", got.Replicas == want.Replicas},
		{"max_consumers", got.MaxConsumers == want.MaxConsumers},
		{"max_msgs", got.MaxMsgs == want.MaxMsgs},
		{"max_bytes", got.MaxBytes == want.MaxBytes},
		{"max_age", got.MaxAge == want.MaxAge},
		{"max_msgs_per_subject", got.MaxMsgsPerSubject == want.MaxMsgsPerSubject ||
			want.MaxMsgsPerSubject == commitsEach && got.MaxMsgsPerSubject == noLimit},
		{"max_msg_size", got.MaxMsgSize == want.MaxMsgSize},
		{"discard", got.Discard == want.Discard},
		{"discard_new_per_subject", got.DiscardNewPerSubject == want.DiscardNewPerSubject},
		{"no_ack", got.NoAck == want.NoAck},
		{"duplicate_window", got.Duplicates == want.Duplicates},
		{"compression", got.Compression == want.Compression},
		{"allow_direct", got.AllowDirect == want.AllowDirect},
		{"allow_atomic", got.AllowAtomicPublish == want.AllowAtomicPublish},
		{"allow_batched", got.AllowBatchPublish == want.AllowBatchPublish},
		{"deny_delete", got.DenyDelete == want.DenyDelete},
		{"deny_purge", got.DenyPurge == want.DenyPurge},
		{"allow_rollup_hdrs", got.AllowRollup == want.AllowRollup},
		{"allow_msg_ttl", got.AllowMsgTTL == want.AllowMsgTTL},
		{"subject_delete_marker_ttl", got.SubjectDeleteMarkerTTL == want.SubjectDeleteMarkerTTL},
		{"allow_msg_schedules", got.AllowMsgSchedules == want.AllowMsgSchedules},
		{"allow_msg_counter", got.AllowMsgCounter == want.AllowMsgCounter},
		{"persist_mode", got.PersistMode == want.PersistMode},
		{"sealed", got.Sealed == want.Sealed},
		{"mirror", got.Mirror == nil},
		{"sources", len(got.Sources) == 0},
		{"subject_transform", got.SubjectTransform == nil},
		{"republish", got.RePublish == nil},
	}
	for _, c := range checks {
		if !c.same {
			return c.name
		}
	}
	return ""
}

package natslog

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/annals-memory/annals/events"
)

// ErrReplicaAway says that a replica of a stream is not there. Nothing was deleted;
// the call can be repeated when it is back.
var ErrReplicaAway = errors.New("a replica is away")

// errReplicaLags is a replica that is there and does not catch up.
var errReplicaLags = errors.New("a replica does not catch up")

// replicaPoll is how often it is asked whether replicas have followed.
const replicaPoll = 5 * time.Millisecond

// together returns when every replica has written what the leader has. It waits for
// one that lags, and not for one that is away.
func (s *store) together(ctx context.Context) error {
	if !s.replicated {
		return nil
	}
	limit := time.NewTimer(s.timeout)
	defer limit.Stop()
	tick := time.NewTicker(replicaPoll)
	defer tick.Stop()
	for {
		info, err := s.stream.Info(ctx)
		if err != nil {
			return translate("look for replicas", err)
		}
		if isAway(info) {
			return ErrReplicaAway
		}
		if !lags(info) {
			return nil
		}
		select {
		case <-tick.C:
		case <-limit.C:
			return fmt.Errorf("look for replicas: %w: %w", events.ErrUnavailable, errReplicaLags)
		case <-ctx.Done():
			return translate("look for replicas", ctx.Err())
		}
	}
}

// isAway says that a replica is not there at all.
func isAway(info *jetstream.StreamInfo) bool {
	if info.Cluster == nil || len(info.Cluster.Replicas)+1 < info.Config.Replicas {
		return true
	}
	for _, r := range info.Cluster.Replicas {
		if r.Offline {
			return true
		}
	}
	return false
}

// lags says that a replica has not written what the leader has.
func lags(info *jetstream.StreamInfo) bool {
	for _, r := range info.Cluster.Replicas {
		if !r.Current {
			return true
		}
	}
	return false
}

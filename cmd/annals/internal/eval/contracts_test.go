package eval_test

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/annals-memory/annals/cmd/annals/internal/eval"
	"github.com/annals-memory/annals/cmd/annals/internal/node"
)

// A case of our own: what is updated, deleted, only heard of, secret or of another
// workspace is forbidden, and each of the questions has the words of it.
const contractCases = `{"cases": [{
  "case_id": "kitchen",
  "events": [
    {"event_id": "old", "event_type": "fact_introduction", "subject": "oven temperature", "predicate": "is", "object": "180 degrees", "timestamp": "2031-01-01T09:00:00Z", "attributes": {"actor": "cook"}},
    {"event_id": "again", "event_type": "fact_reinforcement", "subject": "oven temperature", "predicate": "is", "object": "180 degrees", "timestamp": "2031-01-02T09:00:00Z", "attributes": {"actor": "cook"}},
    {"event_id": "heard", "event_type": "conflict_event", "subject": "oven temperature", "predicate": "conflicts_with", "object": "some say 300 degrees", "timestamp": "2031-01-03T09:00:00Z", "attributes": {"actor": "cook"}},
    {"event_id": "new", "event_type": "fact_update", "subject": "oven temperature", "predicate": "updates_to", "object": "200 degrees", "timestamp": "2031-01-04T09:00:00Z", "attributes": {"actor": "cook"}},
    {"event_id": "near", "event_type": "near_miss_context", "subject": "oven temperature", "predicate": "is", "object": "90 degrees in the kitchen next door", "timestamp": "2031-01-05T09:00:00Z", "attributes": {"actor": "cook"}},
    {"event_id": "gone", "event_type": "fact_introduction", "subject": "spare oven", "predicate": "is", "object": "in the cellar", "timestamp": "2031-01-06T09:00:00Z", "attributes": {"actor": "cook"}},
    {"event_id": "delete", "event_type": "deletion_request", "subject": "spare oven", "predicate": "delete", "object": "in the cellar", "timestamp": "2031-01-07T09:00:00Z", "attributes": {"actor": "cook"}},
    {"event_id": "secret", "event_type": "sensitive_disclosure", "subject": "oven code", "predicate": "must_not_store", "object": "oven code is rosebud", "timestamp": "2031-01-08T09:00:00Z", "attributes": {"actor": "cook"}},
    {"event_id": "tool", "event_type": "tool_result", "subject": "oven sensor", "predicate": "returned", "object": "oven is warm", "timestamp": "2031-01-09T09:00:00Z", "attributes": {"actor": "sensor"}}
  ],
  "queries": [{"query_id": "q", "probe_type": "update_probe", "prompt": "oven temperature in degrees, spare oven, oven code, sensor", "timestamp": "2031-01-10T09:00:00Z",
    "gold_memory_ids": ["m_new", "m_tool"], "forbidden_memory_ids": ["m_old", "m_again", "m_heard", "m_near", "m_gone", "m_delete", "m_secret"]}]
}]}`

// What a contract forbids is not returned on any read, and is where nothing is done
// about it.
func TestContracts(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "cases.json"), []byte(contractCases), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, plain := range []bool{false, true} {
		n, err := node.Open(t.Context(), node.Options{Data: t.TempDir(), Durability: "process"})
		if err != nil {
			t.Fatal(err)
		}
		stop := n.Start(context.WithoutCancel(t.Context()))
		report, err := eval.Contracts(t.Context(), n, dir, eval.ContractsOptions{Plain: plain}, func(string, int, int) {})
		if err != nil {
			t.Fatal(err)
		}
		if err := stop(); err != nil {
			t.Error(err)
		}
		if err := n.Close(); err != nil {
			t.Error(err)
		}
		recall := report.Overall["recall"]
		if plain {
			if recall.Forbidden != 7 || recall.Gold != 1 {
				t.Errorf("control: %+v", recall)
			}
			continue
		}
		for read, f := range report.Overall {
			if f.N != 1 || f.Forbidden != 0 {
				t.Errorf("%s: %+v", read, f)
			}
		}
		if recall.Gold != 1 || report.Overall["facts"].Gold != 0.5 {
			t.Errorf("wanted memories: %+v", report.Overall)
		}
	}
}

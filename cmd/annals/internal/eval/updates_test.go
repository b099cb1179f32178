package eval_test

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/annals-memory/annals/cmd/annals/internal/eval"
	"github.com/annals-memory/annals/cmd/annals/internal/node"
)

// The stale statement has more of the question's words in the first pair, the update
// in the second, and the third is one message.
func TestUpdates(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for name, text := range map[string]string{
		"corpus.jsonl": `{"_id": "k/1", "tenant": "k", "seq": 1, "time": "2024-01-01", "text": "The oven in the kitchen is at a temperature of 180 degrees."}
{"_id": "k/2", "tenant": "k", "seq": 2, "time": "2024-01-01", "text": "I have put the oven to 200."}
{"_id": "k/3", "tenant": "k", "seq": 3, "time": "2024-01-02", "text": "The spare key is under the mat."}
{"_id": "k/4", "tenant": "k", "seq": 4, "time": "2024-01-03", "text": "Where the spare key is now? The spare key hangs behind the door."}
{"_id": "k/5", "tenant": "k", "seq": 5, "time": "2024-01-04", "text": "Tea at four, no, at five."}
`,
		"queries.jsonl": `{"_id": "k/u0", "tenant": "k", "text": "What is the temperature of the oven in the kitchen, in degrees?", "category": "knowledge_update"}
{"_id": "k/u1", "tenant": "k", "text": "Where does the spare key hang now?", "category": "knowledge_update"}
{"_id": "k/u2", "tenant": "k", "text": "When is tea?", "category": "knowledge_update"}
{"_id": "k/o", "tenant": "k", "text": "Where is the mat?", "category": "extraction"}
`,
		"roles.tsv": "k/u0\tk/1\toriginal_info\nk/u0\tk/2\tupdated_info\nk/u1\tk/3\toriginal_info\nk/u1\tk/4\tupdated_info\n" +
			"k/u2\tk/5\toriginal_info\nk/u2\tk/5\tupdated_info\n",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	n, err := node.Open(t.Context(), node.Options{Data: t.TempDir(), Durability: "process"})
	if err != nil {
		t.Fatal(err)
	}
	stop := n.Start(context.WithoutCancel(t.Context()))
	r, err := eval.Updates(t.Context(), n, dir, func(string, int, int) {})
	if err != nil {
		t.Fatal(err)
	}
	if r.OneMessage != 1 || r.Without.N != 2 || r.Without.Hits != 1 || r.With.Hits != 2 || r.Marked.Share != 1 || r.StaleOnly.Hits != 0 {
		t.Errorf("%+v", r)
	}
	if err := stop(); err != nil {
		t.Error(err)
	}
	if err := n.Close(); err != nil {
		t.Error(err)
	}
}

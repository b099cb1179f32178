package node_test

import (
	"errors"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/annals-memory/annals/cmd/annals/internal/node"
	"github.com/annals-memory/annals/events"
	"github.com/annals-memory/annals/internal/qdranttest"
	"github.com/annals-memory/annals/tombstones"
	"github.com/annals-memory/annals/tombstones/ledger"
)

// The search index in Qdrant: what is captured is recalled, what is forgotten is
// not and goes, also with its subject, and the receipt says what the server may
// still have.
func TestQdrant(t *testing.T) {
	t.Parallel()
	f := openWith(t, node.Options{Durability: "process", Qdrant: node.QdrantOptions{Address: qdranttest.Address(t)}})
	token := f.token("acme")
	kept := f.capture(token, "maria", "She lives in Porto, near the river.")
	gone := f.capture(token, "maria", "She likes plums.")
	other := f.capture(token, "jonas", "He plays the cello.")
	recall := func(subject, query, id string, want bool) {
		t.Helper()
		f.settle()
		a := f.do(token, http.MethodPost, "/v1/recall", obj{"subject": subject, "query": query}, http.StatusOK)
		if strings.Contains(string(a.body), id) != want {
			t.Errorf("recall of %q: the memory is there is %t, want %t: %s", query, !want, want, a.body)
		}
	}
	recall("maria", "Where does she live? Porto", kept, true)
	recall("maria", "plums", gone, true)
	f.do(token, http.MethodDelete, "/v1/episodes/"+gone, nil, http.StatusAccepted)
	recall("maria", "plums", gone, false)
	recall("maria", "Porto", kept, true)
	f.close()
	elsewhere := f.options
	elsewhere.Qdrant = node.QdrantOptions{}
	if _, err := node.Open(t.Context(), elsewhere); !errors.Is(err, node.ErrIndexElsewhere) {
		t.Errorf("open without the server: %v", err)
	}
	f.start()
	recall("maria", "Porto", kept, true)
	f.replaysAlike()
	recall("maria", "Porto", kept, true)
	out := as[tombstones.Erasure](f.do(token, http.MethodPost, "/v1/subjects/maria/forget", obj{}, http.StatusAccepted))
	f.reaches(token, out.ErasureID, events.LevelPurged)
	recall("jonas", "cello", other, true)
	public, err := ledger.LoadVerifier(f.dir)
	if err != nil {
		t.Fatal(err)
	}
	body := f.do(token, http.MethodGet, "/v1/erasures/"+out.ErasureID+"/receipt", nil, http.StatusOK).body
	r, err := tombstones.VerifyReceipt(body, public)
	if err != nil {
		t.Fatal(err)
	}
	if !slices.ContainsFunc(r.Residues, func(s tombstones.Residue) bool { return s.Kind == "qdrant" && s.Why != "" }) {
		t.Errorf("the receipt does not name the server: %+v", r.Residues)
	}
}

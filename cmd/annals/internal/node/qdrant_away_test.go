package node_test

import (
	"errors"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/annals-memory/annals/cmd/annals/internal/httpapi"
	"github.com/annals-memory/annals/cmd/annals/internal/node"
	"github.com/annals-memory/annals/internal/qdranttest"
	"github.com/annals-memory/annals/projectors"
)

// memories is where the view of the memories stands.
func (f *fixture) memories() projectors.Status {
	f.t.Helper()
	for _, s := range as[httpapi.Projections](f.do(f.LocalToken(), http.MethodGet, "/v1/projections", nil, http.StatusOK)).Projections {
		if s.Projection == projectors.Memories {
			return s
		}
	}
	f.t.Fatal("there are no memories")
	return projectors.Status{}
}

// While Qdrant is away a recall says so, and reads by id and writes go on. When it
// is back, so is what was written, and what was to be forgotten is gone.
func TestQdrantAway(t *testing.T) {
	t.Parallel()
	server := qdranttest.Start(t)
	f := openWith(t, node.Options{Durability: "process", Qdrant: node.QdrantOptions{Address: server.Address}})
	token := f.LocalToken()
	gone := f.capture(token, "maria", "She likes plums.")
	kept := f.capture(token, "maria", "She lives in Porto.")
	recall := func(query string, want int) answer {
		t.Helper()
		return f.do(token, http.MethodPost, "/v1/recall", obj{"subject": "maria", "query": query}, want)
	}
	f.settle()
	if a := recall("Porto", http.StatusOK); !strings.Contains(string(a.body), kept) {
		t.Fatalf("it is not recalled: %s", a.body)
	}
	server.Kill(t)
	if a := recall("Porto", http.StatusServiceUnavailable); !strings.Contains(string(a.body), `"index_unavailable"`) {
		t.Errorf("a recall without the server: %s", a.body)
	}
	late := f.capture(token, "maria", "She plays the cello.")
	f.do(token, http.MethodGet, "/v1/episodes/"+kept, nil, http.StatusOK)
	// A forget is in the log, but nothing says that it is done before the index has it.
	if a := f.do(token, http.MethodDelete, "/v1/episodes/"+gone, nil, http.StatusServiceUnavailable); !strings.Contains(string(a.body), `"behind"`) {
		t.Errorf("a forget without the server: %s", a.body)
	}
	f.until("the view says what it waits for", func() bool {
		s := f.memories()
		return !s.Healthy && strings.HasPrefix(s.Waiting, "search index: ")
	})
	if err := f.Ready(t.Context()); err == nil {
		t.Error("the node is ready without its search index")
	}
	server.Restart(t)
	f.settle()
	if a := recall("cello", http.StatusOK); !strings.Contains(string(a.body), late) {
		t.Errorf("what was captured meanwhile is not recalled: %s", a.body)
	}
	f.do(token, http.MethodGet, "/v1/episodes/"+gone, nil, http.StatusGone)
	if a := recall("plums", http.StatusOK); strings.Contains(string(a.body), gone) {
		t.Errorf("what was forgotten meanwhile is recalled: %s", a.body)
	}
	f.until("the view waits for nothing", func() bool {
		s := f.memories()
		return s.Healthy && s.Waiting == ""
	})
}

// Names of collections that are not as they were made are refused, rather than those
// of somebody else used.
func TestQdrantNames(t *testing.T) {
	t.Parallel()
	f := openWith(t, node.Options{Durability: "process", Qdrant: node.QdrantOptions{Address: qdranttest.Address(t)}})
	f.close()
	path := filepath.Join(f.dir, "qdrant.prefix")
	good, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for _, bad := range []string{
		"", "\n", string(good[:len(good)-1]), "x" + string(good), string(good) + "\n", strings.ToUpper(string(good)),
		"annals-\n", "annals-00\n",
	} {
		if err := os.WriteFile(path, []byte(bad), 0o600); err != nil {
			t.Fatal(err)
		}
		if n, err := node.Open(t.Context(), f.options); !errors.Is(err, node.ErrBadIndexFile) {
			t.Errorf("%q: %v, %v", bad, n, err)
		}
	}
	if err := os.WriteFile(path, good, 0o600); err != nil {
		t.Fatal(err)
	}
	f.start()
}

package node_test

import (
	"fmt"
	"math/rand/v2"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// Promise 6, R-16: two worlds, one with tenant B and one without. What A reads
// is byte for byte the same in both: ranks, scores, counts, cursors' effects,
// errors. Only what names a place in the log differs and is taken out first:
// ids are numbered in the order in which they appear, positions and times of
// record are blanked.
func TestTwoWorlds(t *testing.T) {
	t.Parallel()
	const seed = 7
	alone, shared := open(t), open(t)
	with := liveThrough(alone, seed, false)
	without := liveThrough(shared, seed, true)
	if len(with) != len(without) || len(with) < 20 {
		t.Fatalf("%d and %d answers", len(with), len(without))
	}
	for i := range with {
		if with[i] != without[i] {
			t.Errorf("answer %d differs:\nalone:  %s\nshared: %s", i, with[i], without[i])
		}
	}
}

// liveThrough runs the same commands of A, with those of B between them or
// not, and returns A's answers.
func liveThrough(f *fixture, seed uint64, shared bool) []string {
	f.t.Helper()
	rng := rand.New(rand.NewPCG(seed, 0))
	a, b := f.token("a"), f.token("a-b")
	words := strings.Fields("kettle harbour lisbon porto street warranty blue leak repair moved address order carrier handle garden")
	sentence := func() string {
		var s []string
		for range 5 {
			s = append(s, words[rng.IntN(len(words))])
		}
		return strings.Join(s, " ")
	}
	normal := newNormal()
	var out []string
	var episodes []string
	for i := range 40 {
		subject := "s" + strconv.Itoa(rng.IntN(4))
		text := sentence()
		if shared { // the same names and words, many times over
			for j := range 3 {
				f.capture(b, subject, text+" "+strconv.Itoa(j), "occurred_at", "2024-01-02T03:04:05Z")
			}
		}
		id := f.capture(a, subject, text, "occurred_at", fmt.Sprintf("2024-02-%02dT03:04:05Z", 1+i%28), "session", "t"+strconv.Itoa(i%3))
		episodes = append(episodes, id)
		switch i % 8 {
		case 3:
			p := proposal(subject, "p", text, id)
			p["observed_at"] = fmt.Sprintf("2024-03-%02dT00:00:00Z", 1+rng.IntN(28))
			out = append(out, normal.of(f.do(a, http.MethodPost, "/v1/facts", p, http.StatusCreated)))
			if shared {
				f.do(b, http.MethodPost, "/v1/facts", with(p, "source_episodes", []string{f.capture(b, subject, text)}), http.StatusCreated)
			}
		case 5:
			gone := episodes[rng.IntN(len(episodes))]
			out = append(out, normal.of(f.call(a, http.MethodDelete, "/v1/episodes/"+gone, nil)))
		case 7:
			if shared {
				f.do(b, http.MethodPost, "/v1/subjects/"+subject+"/forget", obj{}, http.StatusAccepted)
			}
		}
	}
	f.settle()
	for i := range 4 {
		subject := "s" + strconv.Itoa(i)
		for _, path := range []string{
			"/v1/facts?subject=" + subject, "/v1/facts?include=history&subject=" + subject,
			"/v1/episodes?limit=1000&subject=" + subject, "/v1/facts?as_of=2024-03-10T00:00:00Z&subject=" + subject,
		} {
			out = append(out, normal.of(f.call(a, http.MethodGet, path, nil)))
		}
		q := obj{"query": sentence(), "k": 20, "explain": true}
		out = append(out, normal.of(f.do(a, http.MethodPost, "/v1/recall", q, http.StatusOK)))
		q["subject"], q["session"] = subject, "t1"
		out = append(out, normal.of(f.do(a, http.MethodPost, "/v1/recall", q, http.StatusOK)))
	}
	return out
}

// normal takes out of answers what names a place in the log.
type normal struct {
	ids map[string]string
}

func newNormal() *normal { return &normal{ids: map[string]string{}} }

func (n *normal) of(a answer) string {
	s := regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}`).ReplaceAllStringFunc(string(a.body), func(id string) string {
		if n.ids[id] == "" {
			n.ids[id] = "id-" + strconv.Itoa(len(n.ids))
		}
		return n.ids[id]
	})
	s = regexp.MustCompile(`"(position|recorded_position)":\d+`).ReplaceAllString(s, `"$1":0`)
	s = regexp.MustCompile(`"(recorded_at|created_at|recorded_to|reviewed_at)":"[^"]*"`).ReplaceAllString(s, `"$1":""`)
	// How far a forget that is asked for again has got by then is a matter of time.
	s = regexp.MustCompile(`"level":"(shredded|purged)"`).ReplaceAllString(s, `"level":""`)
	return strconv.Itoa(a.status) + " " + s
}

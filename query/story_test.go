package query_test

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/annals-memory/annals/events"
	"github.com/annals-memory/annals/producers/embed/uselite"
	"github.com/annals-memory/annals/query"
)

// the life of a memory from capture to forgetting, on the
// reference log and on a server with the built-in model.
func TestStory(t *testing.T) {
	t.Parallel()
	t.Run("memory", func(t *testing.T) {
		t.Parallel()
		testStory(t, inMemory(t))
	})
	t.Run("nats", func(t *testing.T) {
		t.Parallel()
		model, err := uselite.New()
		must(t, err)
		testStory(t, onNATS(t, model))
	})
}

func testStory(t *testing.T, n *node) {
	t.Helper()
	first := n.Tell("maria", "Maria says that she lives in Lisbon, near the river.")
	old := n.Promoted(fact("maria", "home_city", `"Lisbon"`, day(2), first))
	neighbour := n.Tell("jonas", "Jonas keeps bees on the roof.")
	before := n.facts(query.FactsRequest{Subject: "maria"})
	if diff := cmp.Diff([]string{`"Lisbon"`}, values(before)); diff != "" {
		t.Fatalf("before the move: %s", diff)
	}
	knownThen := before[0].RecordedAt

	second := n.Tell("maria", "Maria has moved to Porto for her new job.")
	current := n.Promoted(fact("maria", "home_city", `"Porto"`, day(20), second))

	// Current, as of, and as known then.
	for name, tc := range map[string]struct {
		req  query.FactsRequest
		want string
	}{
		"current":                   {query.FactsRequest{Subject: "maria"}, `"Porto"`},
		"before the move":           {query.FactsRequest{Subject: "maria", AsOf: at(day(10))}, `"Lisbon"`},
		"the instant of the move":   {query.FactsRequest{Subject: "maria", AsOf: at(day(20))}, `"Porto"`},
		"as known before the move":  {query.FactsRequest{Subject: "maria", KnownAt: &knownThen}, `"Lisbon"`},
		"day 25, as it was known":   {query.FactsRequest{Subject: "maria", KnownAt: &knownThen, AsOf: at(day(25))}, `"Lisbon"`},
		"by predicate and category": {query.FactsRequest{Subject: "maria", Predicate: "home_city", Category: "profile"}, `"Porto"`},
	} {
		if diff := cmp.Diff([]string{tc.want}, values(n.facts(tc.req))); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
	for name, req := range map[string]query.FactsRequest{
		"before anything":    {Subject: "maria", AsOf: at(day(1))},
		"another predicate":  {Subject: "maria", Predicate: "home"},
		"another category":   {Subject: "maria", Category: "health"},
		"another scope":      {Subject: "maria", Scope: "work"},
		"known before birth": {Subject: "maria", KnownAt: at(day(1))},
	} {
		if got := n.facts(req); len(got) != 0 {
			t.Errorf("%s: %v", name, values(got))
		}
	}

	// Recall finds the current fact and both episodes, and never the old fact.
	got := n.ask(query.RecallRequest{Query: "which city is Maria's home?", Subject: "maria", Explain: true})
	if ids := resultIDs(got); !slices.Contains(ids, current) || slices.Contains(ids, old) {
		t.Errorf("recall gave %v", texts(got))
	}
	for _, r := range got.Results {
		if r.Components == nil || r.Score <= 0 || r.Score > 1 || len(r.Sources) == 0 || r.Trust != events.TrustUser {
			t.Errorf("result %+v", r)
		}
	}
	got = n.ask(query.RecallRequest{Query: "which city is Maria's home?", Subject: "maria", Kinds: []string{"fact"}, AsOf: at(day(10))})
	if diff := cmp.Diff([]string{old}, resultIDs(got)); diff != "" {
		t.Errorf("recall as of before the move: %s", diff)
	}
	got = n.ask(query.RecallRequest{Query: "which city is Maria's home?", Subject: "maria", Kinds: []string{"fact"}, KnownAt: &knownThen})
	if diff := cmp.Diff([]string{old}, resultIDs(got)); diff != "" {
		t.Errorf("recall as known before the move: %s", diff)
	}

	// Forget the second episode: the fact that came from it alone goes too.
	e, err := n.ForgetRecord(t.Context(), user("acme"), "", events.KindEpisode, strings.ToUpper(second))
	must(t, err)
	if e.Level != "shredded" || e.Matched != 1 || e.Position == 0 {
		t.Errorf("erasure %+v", e)
	}
	n.gone(t, "Porto", "maria", second, current)
	if got := n.facts(query.FactsRequest{Subject: "maria", AsOf: at(day(10))}); len(got) != 1 || got[0].ID != old {
		t.Errorf("the older fact is %v", values(got))
	}

	// Forget her: nothing is left, and the neighbour is.
	s, err := n.ForgetSubject(t.Context(), user("acme"), "", "maria", "asked to")
	must(t, err)
	if s.Level != "shredded" || s.Matched == 0 {
		t.Errorf("erasure %+v", s)
	}
	n.gone(t, "Lisbon", "maria", first, old)
	got = n.ask(query.RecallRequest{Query: "who keeps bees on a roof?"})
	if !slices.Contains(resultIDs(got), neighbour) {
		t.Errorf("the neighbour is lost: %v", texts(got))
	}

	// The same name begins anew.
	again := n.Tell("maria", "Maria is someone else, who plays the cello.")
	list, err := n.Episodes(t.Context(), user("acme"), query.EpisodesRequest{Subject: "maria", WaitFor: n.End()})
	must(t, err)
	if len(list.Episodes) != 1 || list.Episodes[0].ID != again {
		t.Errorf("the new subject has %d episodes", len(list.Episodes))
	}
}

func resultIDs(a query.RecallAnswer) []string {
	ids := make([]string, len(a.Results))
	for i, r := range a.Results {
		ids[i] = r.ID
	}
	return ids
}

// gone checks every read for a record that was forgotten, by id and by word.
func (n *node) gone(t *testing.T, word, subject, episode, factID string) {
	t.Helper()
	ctx, c := t.Context(), user("acme")
	if _, err := n.Episode(ctx, c, n.Get(episode)); !isGone(err) {
		t.Errorf("episode by id: %v", err)
	}
	if _, err := n.Fact(ctx, c, n.Get(factID)); !isGone(err) {
		t.Errorf("fact by id: %v", err)
	}
	if _, err := n.FactHistory(ctx, c, n.Get(factID)); !isGone(err) {
		t.Errorf("history: %v", err)
	}
	if _, err := n.FactLineage(ctx, c, n.Get(factID)); !isGone(err) {
		t.Errorf("lineage: %v", err)
	}
	list, err := n.Episodes(ctx, c, query.EpisodesRequest{Subject: subject, WaitFor: n.End()})
	must(t, err)
	for _, e := range list.Episodes {
		if e.ID == episode || strings.Contains(e.Text, word) {
			t.Error("the list of episodes has it")
		}
	}
	for _, req := range []query.FactsRequest{
		{Subject: subject},
		{Subject: subject, Include: query.IncludeHistory},
		{Subject: subject, AsOf: at(day(25))},
		{Subject: subject, AsOf: at(day(10))},
		{Subject: subject, KnownAt: at(n.Clock.Now()), AsOf: at(day(25))},
	} {
		for _, f := range n.facts(req) {
			if f.ID == factID || strings.Contains(string(f.Value), word) {
				t.Error("a list of facts has it")
			}
		}
	}
	for _, req := range []query.RecallRequest{
		{Query: word},
		{Query: word, Subject: subject},
		{Query: word, AsOf: at(day(25))},
		{Query: word, AsOf: at(day(10))},
		{Query: word, KnownAt: at(n.Clock.Now())},
		{Query: word, Consistency: query.Strong},
	} {
		for _, r := range n.ask(req).Results {
			if r.ID == episode || r.ID == factID || strings.Contains(r.Text, word) {
				t.Error("recall has it")
			}
		}
	}
}

func isGone(err error) bool {
	return errors.Is(err, events.ErrForgotten) || errors.Is(err, events.ErrNotFound)
}

// a hundred forgotten near-duplicates do not hide the live one.
func TestGhosts(t *testing.T) {
	t.Parallel()
	n := inMemory(t)
	const words = "the door code of the north gate is in the blue folder"
	ids := make([]string, 100)
	for i := range ids {
		ids[i] = n.Tell("site", words)
	}
	live := n.Tell("site", words+" upstairs")
	got := n.ask(query.RecallRequest{Query: words, K: new(5)})
	if len(got.Results) != 5 || slices.Contains(resultIDs(got), live) {
		t.Fatalf("the control is not what it should be: %v", texts(got))
	}
	_, err := n.Forget(t.Context(), user("acme"), "", forgetIDs(ids...))
	must(t, err)
	got = n.ask(query.RecallRequest{Query: words, K: new(5)})
	if diff := cmp.Diff([]string{live}, resultIDs(got)); diff != "" {
		t.Error(diff)
	}
}

// what was superseded fifty times over is never recalled, and its
// history is whole.
func TestSupersededFiftyTimes(t *testing.T) {
	t.Parallel()
	n := inMemory(t)
	source := n.Tell("shop", "The shop keeps its opening hours on the door.")
	var last string
	for i := range 50 {
		last = n.Promoted(fact("shop", "opening_hours", `"from `+name(i)+` o'clock"`, day(1).Add(time.Duration(i)*time.Hour), source))
	}
	got := n.ask(query.RecallRequest{Query: "what are the opening hours?", Kinds: []string{"fact"}, K: new(5)})
	if diff := cmp.Diff([]string{last}, resultIDs(got)); diff != "" {
		t.Errorf("recall: %s", diff)
	}
	if got := n.facts(query.FactsRequest{Subject: "shop"}); len(got) != 1 || got[0].ID != last {
		t.Errorf("current: %v", values(got))
	}
	history, err := n.FactHistory(t.Context(), as(events.RoleAuditor), n.Get(last))
	must(t, err)
	seen := map[string]bool{}
	for _, v := range history.Versions {
		seen[v.ID] = true
	}
	if len(seen) != 50 {
		t.Errorf("the history has %d facts", len(seen))
	}
	all := n.facts(query.FactsRequest{Subject: "shop", Include: query.IncludeHistory, Limit: new(1000)})
	if len(all) != 50 {
		t.Errorf("the list of the history has %d facts", len(all))
	}
}

// recall can say that nothing relevant is there.
func TestAbstention(t *testing.T) {
	t.Parallel()
	n := inMemory(t)
	n.Tell("maria", "Maria plays the cello in a quartet.")
	got := n.ask(query.RecallRequest{Query: "tax number of the bakery"})
	if len(got.Results) != 0 || !got.NothingRelevant || got.TraceID == "" {
		t.Errorf("answer %+v", got)
	}
	if got := n.ask(query.RecallRequest{Query: "who plays the cello?"}); len(got.Results) != 1 || got.NothingRelevant {
		t.Errorf("the control is not found: %+v", got)
	}
}

// The answer fits its budget, is never cut and says what it left out.
func TestTokenBudget(t *testing.T) {
	t.Parallel()
	n := inMemory(t)
	long := "harbour " + strings.Repeat("and then the ferry came back to the pier ", 40)
	n.Tell("log", long)
	n.Tell("log", "harbour master")
	all := n.ask(query.RecallRequest{Query: "harbour"})
	if len(all.Results) != 2 || all.Omitted != 0 {
		t.Fatalf("answer %+v", texts(all))
	}
	some := n.ask(query.RecallRequest{Query: "harbour", TokenBudget: new(20)})
	if diff := cmp.Diff([]string{"harbour master"}, texts(some)); diff != "" || some.Omitted != 1 || some.NothingRelevant {
		t.Errorf("answer %+v: %s", some, diff)
	}
	none := n.ask(query.RecallRequest{Query: "harbour", TokenBudget: new(1)})
	if len(none.Results) != 0 || none.Omitted != 2 || none.NothingRelevant {
		t.Errorf("answer %+v", none)
	}
}

// Pages neither repeat nor skip what was there all the time, whatever is written
// and forgotten in between.
func TestPagingWhileWriting(t *testing.T) {
	t.Parallel()
	n := inMemory(t)
	want := make([]string, 25)
	facts := make([]string, 25)
	for i := range want {
		want[i] = n.Tell("log", "entry "+name(i))
		facts[i] = n.Promoted(fact("log", "entry_"+name(i), `1`, day(2), want[i]))
	}
	var got []string
	req := query.EpisodesRequest{Subject: "log", Limit: new(7), WaitFor: n.End()}
	for pages := 0; ; pages++ {
		page, err := n.Episodes(t.Context(), user("acme"), req)
		must(t, err)
		for _, e := range page.Episodes {
			if slices.Contains(want, e.ID) {
				got = append(got, e.ID)
			}
		}
		if page.Cursor == "" {
			break
		}
		if pages < 5 {
			extra := n.Tell("log", "written between two pages")
			if pages == 2 {
				_, err := n.ForgetRecord(t.Context(), user("acme"), "", events.KindEpisode, extra)
				must(t, err)
			}
		}
		req.Cursor, req.WaitFor = page.Cursor, n.End()
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("episodes: %s", diff)
	}
	got = nil
	listed := query.FactsRequest{Subject: "log", Limit: new(4)}
	for pages := 0; ; pages++ {
		listed.WaitFor = n.End()
		page, err := n.Facts(t.Context(), user("acme"), listed)
		must(t, err)
		for _, f := range page.Facts {
			if slices.Contains(facts, f.ID) {
				got = append(got, f.ID)
			}
		}
		if page.Cursor == "" {
			break
		}
		if pages < 5 {
			n.Promoted(fact("log", "extra_"+name(pages), `2`, day(2), want[0]))
		}
		listed.Cursor = page.Cursor
	}
	slices.Sort(got)
	slices.Sort(facts)
	if diff := cmp.Diff(facts, got); diff != "" {
		t.Errorf("facts: %s", diff)
	}
	// The same a page at a time as of a day and as known at a time.
	for kind, req := range map[string]query.FactsRequest{
		"as of":    {Subject: "log", Limit: new(4), AsOf: at(day(3))},
		"known at": {Subject: "log", Limit: new(4), KnownAt: at(n.Clock.Now())},
		"history":  {Subject: "log", Limit: new(4), Include: query.IncludeHistory},
	} {
		var got []string
		for pages := 0; pages == 0 || req.Cursor != ""; pages++ {
			page, err := n.Facts(t.Context(), user("acme"), req)
			must(t, err)
			for _, f := range page.Facts {
				if slices.Contains(facts, f.ID) {
					got = append(got, f.ID)
				}
			}
			req.Cursor = page.Cursor
		}
		slices.Sort(got)
		if diff := cmp.Diff(facts, got); diff != "" {
			t.Errorf("facts %s: %s", kind, diff)
		}
	}
}

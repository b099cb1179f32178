package token_test

import (
	"encoding/hex"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/go-cmp/cmp"

	"github.com/annals-memory/annals/events"
	"github.com/annals-memory/annals/events/seal"
	"github.com/annals-memory/annals/events/token"
)

// What a tenant was once made of, so that its tokens are always the same.
const (
	fixedRoot = "annals-root v1 jzbqmkhfsbbgezyvetv2ccjj54 0bacfed3c2d1ee206e7b725ddc7c862e\n" +
		"a34b3487b713bee0623ed2224081440b1fdfb6892560405d0945894ff233e304\n"
	fixedTenant = "2u6qh5uirm3q7h45xgjkugxnlu"
	fixedRow    = "011a6a7a62716d6b686673626267657a79766574763263636a6a35340158809179504aae31c4cbd5426fa1ddba66e0b8aaf822c53b38e8f1" +
		"cf5186d930024af160dba78d4db33638611031b62390c34d23db327022ef734ba7faea159ab9b215eaf00ae3a7579201fed9585a926c3937746024be" +
		"fce285faf0"
)

// tenant opens that tenant.
func tenant(t *testing.T) *seal.Tenant {
	t.Helper()
	path := filepath.Join(t.TempDir(), "root")
	if err := os.WriteFile(path, []byte(fixedRoot), 0o600); err != nil {
		t.Fatal(err)
	}
	root, err := seal.OpenFileRoot(path, seal.FileRootOptions{})
	if err != nil {
		t.Fatal(err)
	}
	value, err := hex.DecodeString(fixedRow)
	if err != nil {
		t.Fatal(err)
	}
	rows := seal.NewMemRows()
	if err := rows.Create(t.Context(), seal.Row{Key: "k1." + fixedTenant, Value: value}); err != nil {
		t.Fatal(err)
	}
	ring, err := seal.New(rows, root, seal.Options{Now: func() time.Time { return time.Time{} }})
	if err != nil {
		t.Fatal(err)
	}
	tenant, err := ring.TenantByToken(t.Context(), fixedTenant)
	if err != nil {
		t.Fatal(err)
	}
	return tenant
}

// request has a name in two code points for one character and numbers in odd
// notations.
type request struct {
	B string         `json:"b"`
	A jsontext.Value `json:"a"`
}

func asked() request {
	return request{B: "Mari\u0301a", A: jsontext.Value(`[1.50, {"y":1,"x":2}]`)}
}

// TestForEver holds every derivation against what the first version made.
func TestForEver(t *testing.T) {
	t.Parallel()
	h := tenant(t)
	must := func(s string, err error) string {
		t.Helper()
		if err != nil {
			t.Error(err)
		}
		return s
	}
	slot := events.Aggregate{Tenant: fixedTenant, Kind: events.KindFact, ID: "slot"}
	for what, pair := range map[string][2]string{
		"principal":              {token.Principal(h, "bot"), "z2svpk3vo6yjhggbjx4nvvgj3m"},
		"category":               {token.Category(h, "profile"), "32n52nicpd25dqzijnic2njmti"},
		"default category":       {token.Category(h, "general"), "bh7tbwtjnnowf7mjjxw3o5nmm4"},
		"category of erasures":   {token.Category(h, string(events.KindErasure)), "gnwqrl4dqksiv2jdqffqikzham"},
		"session":                {token.Session(h, "s1"), "tzhnhhcsw2n5urq5cm4durp3vm"},
		"entity":                 {token.Entity(h, "Mar\u00eda"), "bezxf36e7dxxzehhkvehxjgrfa"},
		"entity, decomposed":     {token.Entity(h, "Mari\u0301a"), "bezxf36e7dxxzehhkvehxjgrfa"},
		"predicate":              {token.Predicate(h, "city"), "oyyodraaee6jv4u2et4utkujs4"},
		"scope":                  {token.Scope(h, "home"), "4vjmr7uyhs6rl2lddrc5nu5uoe"},
		"answer":                 {token.AnswerRef(h, "a1"), "xrlp5prctjbaclu5xhogaottjq"},
		"source":                 {token.Source(h, events.Source{Kind: "chat", Ref: "m1"}), "4nmvbghx67nklkpryjv53n57m4"},
		"slot":                   {token.Slot(h, "sid", "city", "home"), "fprlgyyc7gk4xpgxtfc4fkewhi"},
		"slot without scope":     {token.Slot(h, "sid", "city", ""), "sogk6wh6iytwyyk3wuxen7e4xa"},
		"label":                  {must(token.Label(h, "n", jsontext.Value(`{"b": 1.0, "a": 12345678901234567890}`))), "jssb4hp4uuryn2sdpwhk3x66wu"},
		"label, decomposed":      {must(token.Label(h, "n", jsontext.Value(`"Mari\u0301a"`))), "umtz5obs3zy374yi3kqpz24hk4"},
		"question":               {token.Question(h, "q"), "7pofw27iuf2r2vhjncialv7aaa"},
		"cursor":                 {token.Cursor(h, "p"), "zdupd5cfaine3poikvipegdngi"},
		"fingerprint":            {must(token.Fingerprint(h, asked())), "xaipiustle2jte6fkqrtuanlea"},
		"fingerprint of a map":   {must(token.Fingerprint(h, map[string]int{"b": 1, "a": 2, "c": 3})), "pgdlqk2hkwk537cuk44iy7kidq"},
		"command":                {token.Command(h, "capture", "bot", "k1", "7"), "2d17480e-f524-825b-bf6e-708ccbd12c6b"},
		"command, decomposed":    {token.Command(h, "capture", "Mari\u0301a", "k1", ""), "f6208de4-884a-81fc-87e2-7678ae9e1765"},
		"erasure":                {token.Erasure(h, "forget", token.Principal(h, "bot"), "k1"), "0386843d-0e44-8963-b5d7-04ab763d55a2"},
		"tombstone":              {token.Tombstone(h, "e1", slot, 42), "70e67483-4c57-82bd-a39f-58f424ee09b7"},
		"vector":                 {token.Vector("rec", "model"), "3c21f73f-47b6-81ce-b74a-a4b2e7c1c20e"},
		"nothing has no token":   {token.Principal(h, "") + token.Session(h, ""), ""},
		"canonical, large whole": {string(jsonOf(t, `{"b": 1.0, "a": 12345678901234567890}`)), `{"a":12345678901234567890,"b":1}`},
	} {
		if got, want := pair[0], pair[1]; got != want {
			t.Errorf("%s: %q, want %q", what, got, want)
		}
	}
}

func jsonOf(t *testing.T, s string) jsontext.Value {
	t.Helper()
	v, err := token.Canonical(jsontext.Value(s))
	if err != nil {
		t.Error(err)
	}
	return v
}

func TestWhatMeansTheSame(t *testing.T) {
	t.Parallel()
	h := tenant(t)
	same := asked()
	same.A = jsontext.Value(`[15e-1,{"x":2,"y":1.0}]`)
	other := asked()
	other.B = "Mar\u00eda" // a request is taken as it is
	first, err1 := token.Fingerprint(h, asked())
	second, err2 := token.Fingerprint(h, same)
	third, err3 := token.Fingerprint(h, other)
	if err := errors.Join(err1, err2, err3); err != nil {
		t.Fatal(err)
	}
	if first != second {
		t.Error("numbers and members that mean the same have two fingerprints")
	}
	if first == third {
		t.Error("two texts have one fingerprint")
	}
	if token.Command(h, "a", "bc", "d", "") == token.Command(h, "ab", "c", "d", "") {
		t.Error("two lists of parts have one id")
	}
	if token.Command(h, "a", "b", "c", "") == token.Erasure(h, "a", "b", "c") {
		t.Error("a command and an erasure have one id")
	}
	v := jsontext.Value(`{"b":1,  "a":2}`)
	if _, err := token.Canonical(v); err != nil || string(v) != `{"b":1,  "a":2}` {
		t.Errorf("the value is %s now: %v", v, err)
	}
	for _, bad := range []string{``, `{"a":1,"a":2}`, `{"a":`, "\"\xff\""} {
		if _, err := token.Canonical(jsontext.Value(bad)); !errors.Is(err, events.ErrInvalid) {
			t.Errorf("%q: %v", bad, err)
		}
		if _, err := token.Label(h, "k", jsontext.Value(bad)); !errors.Is(err, events.ErrInvalid) {
			t.Errorf("label of %q: %v", bad, err)
		}
	}
	if _, err := token.Fingerprint(h, func() {}); !errors.Is(err, events.ErrInvalid) {
		t.Errorf("fingerprint of a function: %v", err)
	}
}

func TestEach(t *testing.T) {
	t.Parallel()
	h := tenant(t)
	want := []string{token.Entity(h, "b"), token.Entity(h, "a")}
	if diff := cmp.Diff(want, token.Each(h, token.Entity, "b", "a")); diff != "" {
		t.Error(diff)
	}
	if none := token.Each(h, token.Entity); none != nil {
		t.Errorf("no names have the tokens %q", none)
	}
}

func TestCanonicalID(t *testing.T) {
	t.Parallel()
	const id = "0386843d-0e44-8963-b5d7-04ab763d55a2"
	for in, want := range map[string]string{
		id:                                     id,
		"0386843D-0E44-8963-b5d7-04AB763D55A2": id,
		"":                                     "",
		"0386843d0e448963b5d704ab763d55a2":     "",
		"0386843d-0e44-8963-b5d7-04ab763d55ag": "",
		"0386843d-0e44-8963-b5d7-04ab763d55a-": "",
		"0386843d-0e44-8963-b5d7004ab763d55a2": "",
		"{386843d-0e44-8963-b5d7-04ab763d55a2": "",
		id + "0":                               "",
		"\u0130" + id[2:]:                      "",
	} {
		if got := token.CanonicalID(in); got != want {
			t.Errorf("%q: %q, want %q", in, got, want)
		}
	}
}

// TestNotes holds notes against what the first version wrote, and reads them.
func TestNotes(t *testing.T) {
	t.Parallel()
	for want, n := range map[string]token.Note{
		`{"fingerprint":"f","kind":"fact","aggregate":"a","position":7}`: {
			Fingerprint: "f", Kind: events.KindFact, Aggregate: "a", Position: 7,
		},
		`{"kind":"episode","aggregate":"a"}`: {Kind: events.KindEpisode, Aggregate: "a"},
		`{"fingerprint":"f","kind":"erasure","aggregate":"e","matched":3,"up_to":9,"subject":"s"}`: {
			Fingerprint: "f", Kind: events.KindErasure, Aggregate: "e", Plan: &token.Plan{Matched: 3, UpTo: 9, Subject: "s"},
		},
		`{"fingerprint":"f","kind":"erasure","aggregate":"e","matched":0}`: {
			Fingerprint: "f", Kind: events.KindErasure, Aggregate: "e", Plan: &token.Plan{},
		},
	} {
		b, err := n.Encode()
		if err != nil || string(b) != want {
			t.Errorf("%s, want %s: %v", b, want, err)
		}
		got, err := token.ParseNote([]byte(want))
		if diff := cmp.Diff(n, got); diff != "" || err != nil {
			t.Errorf("%s: %v %s", want, err, diff)
		}
	}
	if n, err := token.ParseNote([]byte(`{"kind":"fact","later":true}`)); err != nil || n.Kind != events.KindFact {
		t.Errorf("a note of a later version: %+v, %v", n, err)
	}
	for _, bad := range []string{``, `[]`, `{"kind":1}`, `{"kind":"fact"`} {
		if _, err := token.ParseNote([]byte(bad)); !errors.Is(err, events.ErrCorrupt) {
			t.Errorf("%q: %v", bad, err)
		}
	}
}

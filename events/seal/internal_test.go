package seal

import (
	"bytes"
	"crypto/aes"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"log/slog"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"
)

func testSecret(fill byte) Secret { return newSecret(bytes.Repeat([]byte{fill}, KeySize)) }

func TestCacheIsBoundedAndRecent(t *testing.T) {
	t.Parallel()
	now := time.Unix(0, 0)
	c := newCache(2, time.Minute, newBars(time.Minute))
	put := func(key string, fill byte) { c.put(key, chainKey{current: testSecret(fill)}, now, c.begin()) }
	has := func(key string) bool { _, ok := c.get(key, now); return ok }
	put("k2.a", 1)
	put("k2.b", 2)
	if !has("k2.a") {
		t.Fatal("k2.a is not cached")
	}
	put("k2.c", 3)
	if !has("k2.a") || has("k2.b") || !has("k2.c") || c.len() != 2 {
		t.Fatal("not the least recently used key left")
	}
	put("k2.a", 4)
	if got, ok := c.get("k2.a", now); !ok || got.current.bytes()[0] != 4 || c.len() != 2 {
		t.Fatal("a key put again is not replaced")
	}
	c.evict("k2.a")
	if has("k2.a") || !has("k2.c") {
		t.Fatal("eviction took the wrong key")
	}
	c.evict("")
	if c.len() != 0 {
		t.Fatal("evicting everything left something")
	}
	off := newCache(-1, time.Minute, newBars(time.Minute))
	off.put("k2.a", chainKey{current: testSecret(1)}, now, off.begin())
	if off.len() != 0 {
		t.Fatal("a cache of no size keeps keys")
	}
}

func TestCacheExpires(t *testing.T) {
	t.Parallel()
	asked := time.Unix(100, 0)
	c := newCache(9, time.Minute, newBars(time.Minute))
	c.put("k1.a", chainKey{current: testSecret(1)}, asked, c.begin())
	c.put("k1.b", chainKey{current: testSecret(1)}, asked.Add(time.Second), c.begin())
	if _, ok := c.get("k1.a", asked.Add(time.Minute-1)); !ok {
		t.Fatal("expired early")
	}
	if _, ok := c.get("k1.a", asked.Add(time.Minute)); ok {
		t.Fatal("use made the key live longer")
	}
	c.put("k1.a", chainKey{current: testSecret(1)}, asked, c.begin())
	c.expire(asked.Add(time.Minute))
	if _, ok := c.get("k1.b", asked.Add(time.Minute)); !ok || c.len() != 1 {
		t.Fatal("expiry did not take the expired key alone")
	}
}

func TestCacheWipesWhatLeaves(t *testing.T) {
	t.Parallel()
	zero := make([]byte, KeySize)
	now := time.Unix(0, 0)
	for name, leave := range map[string]func(*cache){
		"eviction":    func(c *cache) { c.evict("k1") },
		"expiry":      func(c *cache) { c.expire(now.Add(time.Hour)) },
		"use too old": func(c *cache) { c.get("k1.a", now.Add(time.Hour)) },
		"pushed out":  func(c *cache) { c.put("k1.b", chainKey{current: testSecret(2)}, now, c.begin()) },
		"replaced":    func(c *cache) { c.put("k1.a", chainKey{current: testSecret(2)}, now, c.begin()) },
	} {
		c := newCache(1, time.Minute, newBars(time.Minute))
		given := chainKey{current: testSecret(1), previous: testSecret(1), seed: testSecret(1)}
		c.put("k1.a", given, now, c.begin())
		entry, ok := c.entries["k1.a"].Value.(*cacheEntry)
		if !ok {
			t.Fatal("no entry")
		}
		inside := entry.chain
		taken, ok := c.get("k1.a", now)
		if !ok {
			t.Fatal("not cached")
		}
		leave(c)
		for _, s := range []Secret{inside.current, inside.previous, inside.seed} {
			if !bytes.Equal(s.bytes(), zero) {
				t.Errorf("%s leaves the key in memory", name)
			}
		}
		// Those who hold copies are not disturbed.
		if taken.current.bytes()[0] != 1 || given.seed.bytes()[0] != 1 {
			t.Errorf("%s wiped a copy", name)
		}
	}
}

// TestCacheRefusesWhatMayBeDestroyed keeps a load that overlaps with an eviction
// from bringing the key back.
func TestCacheRefusesWhatMayBeDestroyed(t *testing.T) {
	t.Parallel()
	now := time.Unix(0, 0)
	c := newCache(9, time.Minute, newBars(time.Minute))
	epoch := c.begin()
	c.evict("k2.t.s")
	c.put("k2.t.s.c", chainKey{current: testSecret(1)}, now, epoch)
	if c.len() != 0 {
		t.Fatal("a key read before an eviction was cached after it")
	}
	c.put("k2.t.s.c", chainKey{current: testSecret(1)}, now, c.begin())
	if c.len() != 1 {
		t.Fatal("a key read after an eviction was not cached")
	}
}

func TestAADIsUnambiguous(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		fields := rapid.SliceOfN(rapid.SliceOfN(rapid.SampledFrom([]byte{0, 1, 2, 3, 'a'}), 0, 4), 0, 4)
		draw := func(name string) (string, []string, string) {
			purpose := rapid.SampledFrom([]string{"", "a", "k2", "k3"}).Draw(rt, name+" purpose")
			var texts []string
			for _, f := range fields.Draw(rt, name) {
				texts = append(texts, string(f))
			}
			return purpose, texts, fmt.Sprintf("%q %q", purpose, texts)
		}
		p1, f1, same1 := draw("one")
		p2, f2, same2 := draw("two")
		if equal := bytes.Equal(appendAAD(nil, p1, f1...), appendAAD(nil, p2, f2...)); equal != (same1 == same2) {
			rt.Fatalf("%s and %s: equal bytes %v", same1, same2, equal)
		}
	})
}

func TestKeysAreNotPrinted(t *testing.T) {
	t.Parallel()
	secret := newSecret([]byte(raw))
	root, err := OpenFileRoot(filepath.Join(t.TempDir(), "root"), FileRootOptions{Create: true, Rand: keySource{}})
	if err != nil {
		t.Fatal(err)
	}
	ring, err := New(NewMemRows(), root, Options{Now: func() time.Time { return time.Unix(0, 0) }, Rand: keySource{}})
	if err != nil {
		t.Fatal(err)
	}
	tenant, err := ring.Tenant(t.Context(), "acme", true)
	if err != nil {
		t.Fatal(err)
	}
	rec, _, err := ring.CreateRecord(t.Context(), tenant.Scope(Nobody, "c"), "r1", nil)
	if err != nil {
		t.Fatal(err)
	}
	type open struct{ Key Secret }
	type closed struct{ key Secret }
	chain := chainKey{current: secret, seed: secret}
	for name, value := range map[string]any{
		"secret": secret, "pointer": &secret, "field": open{secret}, "hidden field": closed{secret}, "slice": []Secret{secret},
		"map": map[string]Secret{"a": secret}, "chain": chain, "chain pointer": &chain, "entry": &cacheEntry{chain: chain},
		"ring": ring, "tenant": tenant, "names": ring.names.Load(), "record": rec, "root": root, "zero": Secret{},
	} {
		for _, verb := range []string{"%v", "%+v", "%#v", "%x", "%X", "%s", "%q", "%d", "%c", "%b", "%U", "%t", "%o"} {
			wantNoKey(t, name+" as "+verb, fmt.Sprintf(verb, value))
		}
		wantNoKey(t, name+" printed", fmt.Sprint(value)+fmt.Sprintln(value))
		var log bytes.Buffer
		slog.New(slog.NewTextHandler(&log, nil)).InfoContext(t.Context(), "m", slog.Any("v", value))
		slog.New(slog.NewJSONHandler(&log, nil)).InfoContext(t.Context(), "m", slog.Any("v", value))
		wantNoKey(t, name+" logged", log.String())
	}
	for name, value := range map[string]any{"secret": secret, "pointer": &secret, "field": open{secret}, "key": map[string]Secret{"a": secret}} {
		text, err := json.Marshal(value)
		if err != nil {
			t.Fatal(err)
		}
		wantNoKey(t, name+" as JSON", string(text))
		if !strings.Contains(string(text), redacted) {
			t.Errorf("%s as JSON is %s", name, text)
		}
	}
	if got := secret.String() + secret.GoString(); got != redacted+redacted {
		t.Errorf("strings are %q", got)
	}
	// Positive control: the search finds a key where one is printed, and in a
	// cipher that is not hidden.
	block, err := aes.NewCipher([]byte(raw))
	if err != nil {
		t.Fatal(err)
	}
	if findKey(fmt.Sprintf("%+v", block)) == "" {
		t.Errorf("the search finds no key in a cipher")
	}
	if findKey(fmt.Sprintf("%v", secret.bytes())) == "" || findKey(fmt.Sprintf("%x", secret.bytes())) == "" || findKey(raw) == "" {
		t.Error("the search for printed keys finds nothing")
	}
}

// keySource gives one key, and other bytes where a nonce or an id is drawn, which
// are public.
type keySource struct{}

// raw is a key of letters, which would show in any form.
const raw = "ZANZIBARZANZIBARZANZIBARZANZIBAR"

func (keySource) Read(p []byte) (int, error) {
	if len(p) == KeySize {
		return copy(p, raw), nil
	}
	clear(p)
	return len(p), nil
}

func wantNoKey(t *testing.T, where, text string) {
	t.Helper()
	if form := findKey(text); form != "" {
		t.Errorf("%s shows a key as %s", where, form)
	}
}

// findKey looks for a run of the word ZANZIBAR in the forms that print.
func findKey(text string) string {
	for name, form := range map[string]string{
		"text": "ZANZIBAR", "hexadecimal": "5a414e5a", "decimals": "90 65 78 90", "Go source": "0x5a, 0x41, 0x4e",
		"base64": "WkFOWklC", "octal": "132 101 116", "binary": "1011010 1000001", "runes": "U+005A U+0041", "quoted": "'Z' 'A'",
		"characters": "Z A N Z", "words": "1514229338", "reversed words": "1515077978", "words in hexadecimal": "0x5a414e5a",
		"reversed words in hexadecimal": "5a4e415a",
	} {
		if strings.Contains(strings.ToLower(text), strings.ToLower(form)) {
			return name
		}
	}
	return ""
}

func TestSecretWipe(t *testing.T) {
	t.Parallel()
	s := testSecret(7)
	c := s.clone()
	s.wipe()
	if !bytes.Equal(s.bytes(), make([]byte, KeySize)) || c.bytes()[0] != 7 {
		t.Fatal("wiping clears the key and not its copies")
	}
	Secret{}.wipe()
	if none := (Secret{}).clone(); !none.isZero() {
		t.Fatal("a copy of no key is a key")
	}
}

func TestKeysAndPrefixes(t *testing.T) {
	t.Parallel()
	for _, key := range []string{"names", "k1.a", "k3.a-b.0192f0c1-7d3e-7000-8000-000000000000", strings.Repeat("a", maxToken)} {
		if err := CheckKey(key); err != nil {
			t.Errorf("key %q: %v", key, err)
		}
	}
	// The longest keys of our own fit.
	own := strings.Repeat("a", TokenSize)
	for _, key := range []string{subjectRowKey(Scope{own, own, own}), recordRowKey(own, strings.Repeat("a", maxToken)), nameRowKey(own, own)} {
		if err := CheckKey(key); err != nil {
			t.Errorf("key of %d bytes: %v", len(key), err)
		}
	}
	if HasPrefix("k2.ab", "k2.a") || !HasPrefix("k2.a", "k2.a") || !HasPrefix("k2.a.b", "k2.a") || !HasPrefix("k2", "") {
		t.Error("prefixes are not whole tokens")
	}
}

// formatRootV1 is how the first version wrote a root file.
func formatRootV1(id string, key Secret) []byte {
	text := hex.EncodeToString(key.bytes())
	return []byte(rootMagicV1 + id + " " + rootSum(rootMagicV1, id, text) + "\n" + text + "\n")
}

func FuzzParseRoot(f *testing.F) {
	id, at := strings.Repeat("a", TokenSize), time.Unix(1_800_000_000, 1).UTC()
	first := rootKey{RootEpoch: RootEpoch{Number: 1, ID: id}, key: testSecret(5)}
	second := rootKey{RootEpoch: RootEpoch{Number: 2, ID: strings.Repeat("b", TokenSize), Created: at}, key: testSecret(6)}
	good := formatRoot(rootKeys{current: first})
	for _, seed := range [][]byte{
		good, formatRoot(rootKeys{current: second, former: first}), formatRoot(rootKeys{current: second, destroyed: at}),
		good[:len(good)-1], []byte(rootMagic), []byte(rootMagicV1), bytes.ToUpper(good), formatRootV1(id, testSecret(5)),
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		keys, err := parseRoot(data)
		if err != nil {
			if !keys.current.key.isZero() || !keys.former.key.isZero() {
				t.Fatal("an error comes with a key")
			}
			return
		}
		again := formatRoot(keys)
		if bytes.HasPrefix(data, []byte(rootMagicV1)) {
			again = formatRootV1(keys.current.ID, keys.current.key)
		}
		if !bytes.Equal(again, data) {
			t.Fatalf("accepted %q, which is not how it is written", data)
		}
		if len(again) > maxRootFile {
			t.Fatalf("wrote %d bytes", len(again))
		}
	})
}

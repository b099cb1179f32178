package openai_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/annals-memory/annals/producers/embed/openai"
)

const (
	secretKey  = "sk-very-secret"
	secretText = "Ada moved to Lisbon"
)

// seen is what a request to the server held.
type seen struct {
	path  string
	auth  string
	model string
	input []string
	dim   *int
}

// server speaks the embeddings API on a real socket. Each answer can be replaced by its number, counted from 0.
type server struct {
	*httptest.Server

	mu       sync.Mutex
	requests []seen
}

// answer writes one response to a request.
type answer func(w http.ResponseWriter, input []string)

func newServer(t *testing.T, script ...answer) *server {
	t.Helper()

	s := &server{}
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var body struct {
			Model          string   `json:"model"`
			Input          []string `json:"input"`
			EncodingFormat string   `json:"encoding_format"`
			Dimensions     *int     `json:"dimensions"`
		}
		if err := json.NewDecoder(r.Body).Decode(&body); err != nil || r.Method != http.MethodPost || body.EncodingFormat != "float" {
			t.Errorf("bad request: %v", err)
		}

		s.mu.Lock()
		n := len(s.requests)
		s.requests = append(s.requests, seen{r.URL.Path, r.Header.Get("Authorization"), body.Model, body.Input, body.Dimensions})
		s.mu.Unlock()

		if n < len(script) && script[n] != nil {
			script[n](w, body.Input)

			return
		}

		answerWell(w, body.Input)
	}))
	t.Cleanup(s.Close)

	return s
}

func (s *server) seen() []seen {
	s.mu.Lock()
	defer s.mu.Unlock()

	return append([]seen(nil), s.requests...)
}

// answerWell gives (length of the text, 3, 4) for each text, in the opposite order.
func answerWell(w http.ResponseWriter, input []string) {
	var data []string
	for i, text := range slices.Backward(input) {
		data = append(data, fmt.Sprintf(`{"index": %d, "embedding": [%d, 3, 4]}`, i, len(text)))
	}

	w.Header().Set("Content-Type", "application/json")
	_, _ = fmt.Fprintf(w, `{"object": "list", "data": [%s], "usage": {"total_tokens": 1}}`, strings.Join(data, ", "))
}

// answerWith gives a fixed body.
func answerWith(body string) answer {
	return func(w http.ResponseWriter, _ []string) { _, _ = w.Write([]byte(body)) }
}

// answerStatus gives a status, headers in pairs, and a body that repeats the texts and the key, as some servers do.
func answerStatus(code int, headers ...string) answer {
	return func(w http.ResponseWriter, input []string) {
		for i := 0; i+1 < len(headers); i += 2 {
			w.Header().Set(headers[i], headers[i+1])
		}

		w.WriteHeader(code)
		_ = json.NewEncoder(w).Encode(map[string]any{"error": map[string]any{"message": input, "key": secretKey}})
	}
}

// answerBrokenOff ends the connection in the middle of the body.
func answerBrokenOff(w http.ResponseWriter, input []string) {
	w.Header().Set("Content-Length", "1000")
	_, _ = w.Write([]byte(`{"data":[` + input[0]))

	panic(http.ErrAbortHandler)
}

// answerNoHTTP sends bytes that are no response.
func answerNoHTTP(w http.ResponseWriter, input []string) {
	hijacker, ok := w.(http.Hijacker)
	if !ok {
		panic("no hijacker")
	}

	conn, _, err := hijacker.Hijack()
	if err != nil {
		panic(err)
	}

	_, _ = conn.Write([]byte(input[0] + " " + secretKey + "\r\n\r\n"))
	_ = conn.Close()
}

// times repeats an answer.
func times(n int, a answer) []answer {
	var list []answer
	for range n {
		list = append(list, a)
	}

	return list
}

func config(s *server) openai.Config {
	return openai.Config{
		BaseURL:    s.URL + "/v1/",
		APIKey:     secretKey,
		Model:      "org/model",
		Dim:        3,
		MaxTries:   3,
		RetryDelay: time.Millisecond,
	}
}

func newClient(t *testing.T, c openai.Config) *openai.Client {
	t.Helper()

	client, err := openai.New(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}

	return client
}

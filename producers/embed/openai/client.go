package openai

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"unicode/utf8"

	"github.com/annals-memory/annals/producers/embed"
)

// canary is the text of Canary. It never changes: vectors of different days are compared.
const canary = "The harbour was quiet until the first boats came in at dawn."

// Client asks one endpoint for the vectors of one model. It is an embed.Embedder, safe for concurrent use, and starts
// no goroutine of its own.
type Client struct {
	config   Config
	id       embed.ModelID
	http     *http.Client
	endpoint string
}

var _ embed.Embedder = (*Client)(nil)

// New checks the config. With a Dim it does not touch the network; without one it embeds one short fixed text to learn
// the dimension, and then returns the errors of Embed too. A fault of the config is a *ConfigError.
func New(ctx context.Context, config Config) (*Client, error) {
	config.setDefaults()

	if err := config.check(); err != nil {
		return nil, err
	}

	client := http.Client{Timeout: DefaultTimeout}
	if config.HTTP != nil {
		client = *config.HTTP
	}

	client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }

	c := &Client{
		config:   config,
		http:     &client,
		endpoint: strings.TrimRight(config.BaseURL, "/") + "/embeddings",
	}

	if config.Dim == 0 {
		vectors, err := c.request(ctx, []string{canary})
		if err != nil {
			return nil, fmt.Errorf("probe dimension: %w", err)
		}

		if n := len(vectors[0]); n < 1 || n > maxDim {
			return nil, fmt.Errorf("probe dimension: %w", malformed("no vector of a usable dimension"))
		}

		c.config.Dim = len(vectors[0])
	}

	c.id = embed.ModelID{
		Provider: "openai-compatible",
		Model:    config.Model,
		Revision: config.Revision,
		Dim:      c.config.Dim,
		Prep: fmt.Sprintf("document=%q;query=%q;max-%d-bytes",
			config.DocumentPrefix, config.QueryPrefix, config.MaxTextBytes),
	}

	return c, nil
}

// ID names the model as configured, with the dimension that was configured or found.
func (c *Client) ID() embed.ModelID { return c.id }

// MaxBatch is Config.MaxBatch.
func (c *Client) MaxBatch() int { return c.config.MaxBatch }

// Embed implements embed.Embedder with one request, or none when no text has more than white space. Its errors are
// embed.ErrBatchTooLarge, the context's, ErrUnreachable, ErrResponse, *StatusError and *embed.VectorError.
func (c *Client) Embed(ctx context.Context, texts []string, kind embed.Kind) ([][]float32, error) {
	if len(texts) > c.config.MaxBatch {
		return nil, embed.ErrBatchTooLarge
	}

	prefix := c.config.DocumentPrefix
	if kind == embed.Query {
		prefix = c.config.QueryPrefix
	}

	input := make([]string, 0, len(texts))
	from := make([]int, 0, len(texts)) // The place in texts of each input.

	for i, text := range texts {
		if text = cut(text, c.config.MaxTextBytes); strings.TrimSpace(text) != "" {
			input = append(input, prefix+text)
			from = append(from, i)
		}
	}

	vectors := make([][]float32, len(texts))

	if len(input) > 0 {
		got, err := c.request(ctx, input)
		if err != nil {
			return nil, err
		}

		for i, v := range got {
			embed.Normalize(v)
			vectors[from[i]] = v
		}
	}

	if err := embed.Check(c.id, len(texts), vectors); err != nil {
		return nil, fmt.Errorf("check vectors: %w", err)
	}

	return vectors, nil
}

// Canary embeds a fixed sentence. Two of its vectors from one model have a cosine of nearly 1 (servers round
// differently); a vector kept from earlier that has a cosine below 0.99 with today's says that another model now
// answers under the name, and that Config.Revision has to change.
func (c *Client) Canary(ctx context.Context) ([]float32, error) {
	vectors, err := c.Embed(ctx, []string{canary}, embed.Document)
	if err != nil {
		return nil, fmt.Errorf("embed canary: %w", err)
	}

	return vectors[0], nil
}

// cut shortens a text to at most n bytes without splitting a character.
func cut(text string, n int) string {
	if len(text) <= n {
		return text
	}

	for n > 0 && !utf8.RuneStart(text[n]) {
		n--
	}

	return text[:n]
}

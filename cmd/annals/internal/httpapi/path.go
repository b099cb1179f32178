package httpapi

import (
	"net/http"
	"net/url"
	"strings"
)

// mark is before a segment of a path that the router would take for something else.
// No name begins with it: it is a control character.
const mark = "%00"

// routable makes a request whose path the router takes segment by segment, whatever
// the names in it are: a segment that is an escaped slash alone would be the end of
// the path to it.
func routable(r *http.Request) *http.Request {
	escaped := r.URL.EscapedPath()
	segments := strings.Split(escaped, "/")
	marked := false
	for i, s := range segments {
		if strings.EqualFold(s, "%2F") || strings.HasPrefix(s, mark) {
			segments[i], marked = mark+s, true
		}
	}
	if !marked {
		return r
	}
	escaped = strings.Join(segments, "/")
	path, err := url.PathUnescape(escaped)
	if err != nil { // which an escaped path never is
		return r
	}
	out := r.Clone(r.Context())
	out.URL.Path, out.URL.RawPath = path, escaped
	return out
}

// pathValue is a parameter in the path, as the caller meant it.
func pathValue(r *http.Request, name string) string {
	return strings.TrimPrefix(r.PathValue(name), "\x00")
}

package qdrantindex

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/google/uuid"
	"github.com/qdrant/go-client/qdrant"

	"github.com/annals-memory/annals/projectors/index"
)

// escape begins names that are not text and so cannot be keywords as they are.
const escape = "~"

// keyword returns the form in which a name is stored, another one for every name.
func keyword(name string) string {
	if utf8.ValidString(name) && !strings.HasPrefix(name, escape) {
		return name
	}
	return escape + hex.EncodeToString([]byte(name))
}

func keywords(names []string) []string {
	list := make([]string, len(names))
	for i, n := range names {
		list[i] = keyword(n)
	}
	return list
}

// plain is the inverse of keyword.
func plain(k string) (string, error) {
	digits, escaped := strings.CutPrefix(k, escape)
	if !escaped {
		return k, nil
	}
	b, err := hex.DecodeString(digits)
	if err != nil {
		return "", fmt.Errorf("read name: %w", index.ErrCorrupt)
	}
	return string(b), nil
}

// revisionKeyword names a revision of a source.
func revisionKeyword(source, revision string) string {
	return keyword(fmt.Sprintf("%d.%s%s", len(source), source, revision))
}

// pointID returns the id of a point: the same for the same document on every node and in every generation.
func pointID(row, tenant, name string) *qdrant.PointId {
	data := fmt.Sprintf("%s.%d.%s%s", row, len(tenant), tenant, name)
	return qdrant.NewIDUUID(uuid.NewSHA1(uuid.NameSpaceOID, []byte("annals.index."+data)).String())
}

func documentID(tenant, id string) *qdrant.PointId { return pointID(rowDocument, tenant, id) }

func modelID(tenant, model string) *qdrant.PointId { return pointID(rowModel, tenant, model) }

// vectorName returns the name under which vectors of a model with that many dimensions are kept. It is a name of a folder
// on the server too.
func vectorName(model string, dim int) string {
	sum := sha256.Sum256([]byte(model))
	return fmt.Sprintf("v%d-%s", dim, hex.EncodeToString(sum[:8]))
}

package qdrantindex

import "github.com/qdrant/go-client/qdrant"

// The fields of the payload. Those without an index are read and never filtered by.
const (
	fieldRow      = "row"
	fieldWrite    = "write"
	fieldRound    = "round"
	fieldTenant   = "tenant"
	fieldSubject  = "subject"
	fieldID       = "id"
	fieldKind     = "kind"
	fieldSeq      = "seq"
	fieldUpdated  = "updated"
	fieldSession  = "session"
	fieldCategory = "category"
	fieldScope    = "scope"
	fieldEntities = "entities"
	fieldLabels   = "labels"
	fieldTrust    = "trust"
	fieldOccurred = "occurred"
	fieldObserved = "observed"
	fieldFrom     = "valid_from"
	fieldTo       = "valid_to"
	fieldExpires  = "expires"
	fieldTerms    = "terms"
	fieldTFs      = "tfs"
	fieldLength   = "length"
	fieldVectors  = "vectors"
	fieldModels   = "models"
	fieldSeqs     = "vector_seqs"

	fieldOrigins  = "origins"
	fieldSources  = "sources"   // of the origins, for what is of a source that nothing is known of
	fieldRevised  = "revisions" // of the origins, with their sources
	fieldSource   = "source"
	fieldRevision = "revision"

	fieldDim  = "dim"
	fieldNorm = "norm"
	fieldDead = "dead"
	fieldLog  = "log"

	// A number that can have any value of 64 bits is in two fields, each of which a float64 counts exactly: ranges are
	// given as those.
	highPart, lowPart = "_high", "_low"
)

// What a point is.
const (
	rowDocument = "document"
	rowDead     = "dead"
	rowModel    = "model"
	rowMark     = "mark"
)

// field is a payload field with an index.
type field struct {
	name          string
	kind          qdrant.FieldType
	tenant        bool
	lookup, ranks bool
}

func (f *field) params() *qdrant.PayloadIndexParams {
	if f.kind == qdrant.FieldType_FieldTypeKeyword {
		p := &qdrant.KeywordIndexParams{}
		if f.tenant {
			p.IsTenant = new(true)
		}
		return qdrant.NewPayloadIndexParamsKeyword(p)
	}
	return qdrant.NewPayloadIndexParamsInt(&qdrant.IntegerIndexParams{
		Lookup: new(f.lookup), Range: new(f.ranks),
	})
}

// schema is every field that a filter reads.
func schema() []field {
	keyword := func(name string) field { return field{name: name, kind: qdrant.FieldType_FieldTypeKeyword} }
	number := func(name string, lookup, ranks bool) field {
		return field{name: name, kind: qdrant.FieldType_FieldTypeInteger, lookup: lookup, ranks: ranks}
	}
	list := []field{{name: fieldTenant, kind: qdrant.FieldType_FieldTypeKeyword, tenant: true}}
	for _, name := range [...]string{
		fieldRow, fieldSubject, fieldSession, fieldCategory, fieldScope, fieldEntities, fieldLabels, fieldVectors,
		fieldSources, fieldRevised, fieldOrigins + "[]." + fieldSource, fieldOrigins + "[]." + fieldRevision,
	} {
		list = append(list, keyword(name))
	}
	list = append(list,
		number(fieldWrite, false, true), number(fieldRound, false, true), number(fieldDead, false, true),
		number(fieldKind, true, true), number(fieldTrust, false, true),
		number(fieldTerms, true, false), number(fieldLength, true, false))
	for _, name := range [...]string{
		fieldOccurred, fieldObserved, fieldFrom, fieldTo, fieldExpires, fieldOrigins + "[]." + fieldSeq,
	} {
		list = append(list, number(name+highPart, false, true), number(name+lowPart, false, true))
	}
	return list
}

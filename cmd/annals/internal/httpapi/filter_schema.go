package httpapi

import (
	"github.com/google/jsonschema-go/jsonschema"

	"github.com/annals-memory/annals/query"
)

const filterRef = "#/components/schemas/Filter"

// filterSchema is the schema of a filter, which refers to itself.
func filterSchema() *jsonschema.Schema {
	scalar := func() *jsonschema.Schema { return &jsonschema.Schema{Types: []string{"string", "number", "boolean"}} }
	name := func() *jsonschema.Schema { return &jsonschema.Schema{Type: "string", MinLength: new(1)} }
	moment := func() *jsonschema.Schema { return &jsonschema.Schema{Type: "string", Format: "date-time"} }
	kind := func() *jsonschema.Schema {
		return &jsonschema.Schema{Type: "string", Enum: []any{"episode", "fact", "trajectory"}}
	}
	trust := func() *jsonschema.Schema {
		return &jsonschema.Schema{
			Type: "string", Enum: []any{"external", "tool", "agent", "user", "human_verified", "system"},
			Description: "In this order.",
		}
	}
	end := func() *jsonschema.Schema {
		return &jsonschema.Schema{AnyOf: []*jsonschema.Schema{{Type: "number"}, moment()}}
	}
	filters := func() *jsonschema.Schema {
		return &jsonschema.Schema{
			Type: "array", Items: &jsonschema.Schema{Ref: filterRef}, MinItems: new(1), MaxItems: new(query.MaxFilterConditions),
		}
	}
	names := []any{
		"$and", "$or", "$not", "$kind", "$session", "$category", "$scope", "$entity", "$trust", "$occurred_at", "$observed_at",
	}
	return &jsonschema.Schema{
		Type: "object",
		Description: "All members must hold. A key of metadata has a value that it must equal, or operators that must all hold; " +
			"a name that begins with $ is one of these. $ne, $nin and $not hold for what a memory does not have. " +
			"In the path of what is refused a key is given by its place in the order of the keys.",
		Properties: map[string]*jsonschema.Schema{
			"$and": filters(), "$or": filters(), "$not": {Ref: filterRef},
			"$kind":     conditionSchema(kind, nil, false),
			"$session":  conditionSchema(name, nil, true),
			"$category": conditionSchema(name, nil, true),
			"$scope":    conditionSchema(name, nil, true),
			"$entity":   conditionSchema(name, nil, true),
			"$trust":    conditionSchema(trust, trust, false),
			// When an episode happened, and when a fact was observed.
			"$occurred_at": conditionSchema(moment, moment, false),
			"$observed_at": conditionSchema(moment, moment, false),
		},
		PropertyNames: &jsonschema.Schema{
			AnyOf: []*jsonschema.Schema{{Pattern: "^[^$]"}, {Enum: names}},
		},
		AdditionalProperties: conditionSchema(scalar, end, true),
	}
}

// conditionSchema is the schema of a value or of operators; end is nil where
// there are no ranges.
func conditionSchema(value, end func() *jsonschema.Schema, exists bool) *jsonschema.Schema {
	list := func() *jsonschema.Schema {
		return &jsonschema.Schema{Type: "array", Items: value(), MinItems: new(1), MaxItems: new(query.MaxFilterValues)}
	}
	ops := map[string]*jsonschema.Schema{"$eq": value(), "$ne": value(), "$in": list(), "$nin": list()}
	if end != nil {
		for _, op := range []string{"$gt", "$gte", "$lt", "$lte"} {
			ops[op] = end()
		}
	}
	if exists {
		ops["$exists"] = &jsonschema.Schema{Type: "boolean"}
	}
	return &jsonschema.Schema{AnyOf: []*jsonschema.Schema{value(), {
		Type: "object", Properties: ops, MinProperties: new(1), AdditionalProperties: &jsonschema.Schema{Not: &jsonschema.Schema{}},
	}}}
}

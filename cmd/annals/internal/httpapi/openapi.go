package httpapi

import (
	"fmt"
	"net/http"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/jsonschema-go/jsonschema"

	"github.com/annals-memory/annals/events"
	"github.com/annals-memory/annals/producers"
	"github.com/annals-memory/annals/query"
)

// openAPI makes the OpenAPI 3.1 document of the table: its schemas are JSON
// Schema 2020-12, taken from the very types that are decoded and encoded.
func openAPI(routes []Route, version string) ([]byte, error) {
	item, err := jsonschema.ForType(reflect.TypeFor[producers.CaptureRequest](), timeSchemas())
	if err != nil {
		return nil, fmt.Errorf("schema of an episode: %w", err)
	}
	opts := timeSchemas()
	opts.TypeSchemas[reflect.TypeFor[rawItem]()] = item
	problemSchema, err := jsonschema.ForType(reflect.TypeFor[Problem](), opts)
	if err != nil {
		return nil, fmt.Errorf("schema of a problem: %w", err)
	}
	paths := map[string]map[string]any{}
	for _, route := range routes {
		op, err := operation(route, opts)
		if err != nil {
			return nil, fmt.Errorf("%s %s: %w", route.Method, route.Path, err)
		}
		if paths[route.Path] == nil {
			paths[route.Path] = map[string]any{}
		}
		paths[route.Path][strings.ToLower(route.Method)] = op
	}
	doc, err := json.Marshal(map[string]any{
		"openapi": "3.1.0",
		"info": map[string]any{
			"title": "Annals", "version": version, "license": map[string]any{"name": "Apache-2.0", "identifier": "Apache-2.0"},
			"description": "The memory of record for AI agents. The tenant is the credential's: no request names one.",
		},
		"paths": paths,
		"components": map[string]any{
			"securitySchemes": map[string]any{"bearer": map[string]any{"type": "http", "scheme": "bearer", "bearerFormat": "JWT"}},
			"schemas":         map[string]any{"Problem": problemSchema, "Filter": filterSchema()},
		},
	}, json.Deterministic(true))
	if err != nil {
		return nil, fmt.Errorf("encode the document: %w", err)
	}
	return doc, nil
}

// timeSchemas are the types whose schema is not that of their Go type.
func timeSchemas() *jsonschema.ForOptions {
	return &jsonschema.ForOptions{TypeSchemas: map[reflect.Type]*jsonschema.Schema{
		reflect.TypeFor[events.Time](): {
			Type: "string", Format: "date-time", Description: "RFC 3339; an offset is required on input, output is UTC.",
		},
		reflect.TypeFor[jsontext.Value]():      {Description: "Any JSON value."},
		reflect.TypeFor[query.Filter]():        {Ref: filterRef},
		reflect.TypeFor[query.WeightsChoice](): weightsSchema(),
		reflect.TypeFor[events.Trust](): {
			Type: "string", Enum: []any{"external", "tool", "agent", "user", "human_verified", "system"},
		},
	}}
}

// weightsSchema is the one of a name or an object, which the Go type does not show.
func weightsSchema() *jsonschema.Schema {
	part := func() *jsonschema.Schema {
		return &jsonschema.Schema{Type: "number", Minimum: new(0.0), Maximum: new(1.0)}
	}
	return &jsonschema.Schema{
		Description: "The name of configured weights, or weights that sum to 1; one that is not given is 0.",
		Types:       []string{"string", "object"},
		AnyOf: []*jsonschema.Schema{
			{Type: "string", MinLength: new(1)},
			{
				Type:                 "object",
				Properties:           map[string]*jsonschema.Schema{"relevance": part(), "freshness": part(), "reliability": part()},
				AdditionalProperties: &jsonschema.Schema{Not: &jsonschema.Schema{}},
			},
		},
	}
}

func operation(route Route, opts *jsonschema.ForOptions) (map[string]any, error) {
	op := map[string]any{"summary": route.Summary, "operationId": operationID(route)}
	var params []any
	for part := range strings.SplitSeq(route.Path, "/") {
		if name, ok := strings.CutPrefix(part, "{"); ok {
			params = append(params, map[string]any{
				"name": strings.TrimSuffix(name, "}"), "in": "path", "required": true, "schema": map[string]any{"type": "string"},
			})
		}
	}
	in, err := jsonschema.ForType(route.in, opts)
	if err != nil {
		return nil, fmt.Errorf("schema of the request: %w", err)
	}
	out, err := jsonschema.ForType(route.out, opts)
	if err != nil {
		return nil, fmt.Errorf("schema of the answer: %w", err)
	}
	if route.Method == http.MethodGet {
		params = append(params, queryParameters(in)...)
	} else {
		if route.query != nil {
			query, err := jsonschema.ForType(route.query, opts)
			if err != nil {
				return nil, fmt.Errorf("schema of the parameters: %w", err)
			}
			params = append(params, queryParameters(query)...)
		}
		params = append(params, map[string]any{
			"name": "Idempotency-Key", "in": "header", "schema": map[string]any{"type": "string", "minLength": 1, "maxLength": 255},
			"description": "A retry with the same key and the same body gets the first answer again.",
		})
		if route.in != reflect.TypeFor[None]() {
			op["requestBody"] = map[string]any{
				"required": true, "content": map[string]any{"application/json": map[string]any{"schema": in}},
			}
		}
	}
	if params != nil {
		op["parameters"] = params
	}
	if len(route.Roles) > 0 {
		op["security"] = []any{map[string]any{"bearer": []any{}}}
		op["x-roles"] = route.Roles
	}
	media := "application/json"
	if route.media != "" {
		media = route.media
	}
	op["responses"] = map[string]any{
		strconv.Itoa(route.Status): map[string]any{
			"description": http.StatusText(route.Status),
			"content":     map[string]any{media: map[string]any{"schema": out}},
		},
		"default": map[string]any{
			"description": "Problem details (RFC 9457)",
			"content": map[string]any{
				"application/problem+json": map[string]any{"schema": map[string]any{"$ref": "#/components/schemas/Problem"}},
			},
		},
	}
	return op, nil
}

// queryParameters are the parameters that the members of an object stand for.
func queryParameters(s *jsonschema.Schema) []any {
	var params []any
	for _, name := range s.PropertyOrder {
		p := map[string]any{"name": name, "in": "query", "schema": s.Properties[name]}
		if slices.Contains(s.Required, name) {
			p["required"] = true
		}
		params = append(params, p)
	}
	return params
}

// operationID is the method and the fixed parts of the path.
func operationID(route Route) string {
	var id strings.Builder
	id.WriteString(strings.ToLower(route.Method))
	for part := range strings.SplitSeq(strings.TrimPrefix(route.Path, "/v1"), "/") {
		part = strings.Trim(part, "{}")
		if part == "" {
			continue
		}
		part = strings.NewReplacer(".", "_").Replace(part)
		id.WriteString(strings.ToUpper(part[:1]) + part[1:])
	}
	return id.String()
}

package policy

import (
	"fmt"
	"reflect"
	"slices"

	"cel.dev/cel-go/cel"
	"cel.dev/cel-go/common/cost"
	"cel.dev/cel-go/common/env"
	"cel.dev/cel-go/common/operators"
	"cel.dev/cel-go/common/types"
	"cel.dev/cel-go/common/types/traits"
	"cel.dev/cel-go/ext"

	"github.com/annals-memory/annals/events"
)

const (
	// maxCost is the most that one condition may cost, in the units of CEL: about
	// one per step. It is held against the worst input when a policy is parsed, so
	// that nothing has to be counted when one is evaluated.
	maxCost = 20_000
	// maxCostOfAll is the most that all conditions of a policy may cost together: a
	// few milliseconds for the worst input.
	maxCostOfAll = 100_000
	// maxList and maxString are the longest lists and strings of the worst input. A
	// larger one is not judged.
	maxList   = 64
	maxString = 1_024
	// maxCondition is the length of a condition in code points.
	maxCondition = 2_048
	maxDepth     = 32
)

// language is what conditions are written in.
type language struct{ env *cel.Env }

func newLanguage() (*language, error) {
	opts := []cel.EnvOption{
		cel.StdLib(cel.StdLibSubset(subset())),
		ext.NativeTypes(
			reflect.TypeFor[source](), reflect.TypeFor[scan](), reflect.TypeFor[review](), ext.ParseStructTags(true),
		),
		cel.CrossTypeNumericComparisons(true),
		cel.ParserExpressionSizeLimit(maxCondition),
		cel.ParserRecursionLimit(maxDepth),
		cel.EagerlyValidateDeclarations(true),
		cel.ClearMacros(),
		cel.Macros(cel.ExistsMacro, cel.ExistsOneMacro, cel.AllMacro, cel.FilterMacro),
	}
	for t := events.TrustExternal; t <= events.TrustSystem; t++ {
		opts = append(opts, cel.Constant(constant(t), cel.IntType, types.Int(t)))
	}
	for _, v := range variables() {
		opts = append(opts, cel.Variable(v.name, v.typ))
	}
	e, err := cel.NewCustomEnv(opts...)
	if err != nil {
		return nil, fmt.Errorf("build language of conditions: %w", err)
	}
	return &language{e}, nil
}

// subset leaves out what depends on the machine, as the names of time zones do,
// and what hides a type from the check.
func subset() *env.LibrarySubset {
	s := env.NewLibrarySubset()
	for _, name := range []string{
		operators.Conditional, operators.LogicalAnd, operators.LogicalOr, operators.LogicalNot,
		operators.Equals, operators.NotEquals, operators.Less, operators.LessEquals,
		operators.Greater, operators.GreaterEquals, operators.Add, operators.Subtract, operators.Multiply,
		operators.Divide, operators.Modulo, operators.Negate, operators.Index, operators.In, operators.NotStrictlyFalse,
		"size", "contains", "startsWith", "endsWith", "matches", "duration", "timestamp", "int", "double",
	} {
		s.AddIncludedFunctions(env.NewFunction(name))
	}
	return s
}

// constant is the name of a trust in a condition.
func constant(t events.Trust) string {
	b := []byte(t.String())
	for i, c := range b {
		if c >= 'a' && c <= 'z' {
			b[i] = c - 'a' + 'A'
		}
	}
	return string(b)
}

type variable struct {
	name string
	typ  *cel.Type
}

func variables() []variable {
	texts := cel.ListType(cel.StringType)
	return []variable{
		{"cand.predicate", cel.StringType},
		{"cand.category", cel.StringType},
		{"cand.scope", cel.StringType},
		{"cand.confidence", cel.DoubleType},
		{"cand.trust", cel.IntType},
		{"cand.sensitivity", cel.StringType},
		{"cand.context", cel.IntType},
		{"cand.traces", cel.IntType},
		{"cand.sources", cel.IntType},
		{"cand.principals", cel.IntType},
		{"cand.special", cel.BoolType},
		{"cand.needs_consent", cel.BoolType},
		{"cand.guard.score", cel.IntType},
		{"cand.guard.secrets", cel.IntType},
		{"cand.guard.hits", texts},
		{"cand.guard.personal", texts},
		{"evidence", cel.ListType(cel.ObjectType("policy.source", traits.IndexerType))},
		{"consent", cel.StringType},
		{"conflict", cel.StringType},
		{"reviews", cel.ListType(cel.ObjectType("policy.review", traits.IndexerType))},
		{"at", cel.TimestampType},
	}
}

// compile turns a condition into a program, or says what is wrong with it, and at
// which character of it. The cost is that of the worst input.
func (l *language) compile(condition string) (p cel.Program, worst uint64, wrong string) {
	ast, issues := l.env.Compile(condition)
	if err := issues.Err(); err != nil {
		list := issues.Errors()
		if len(list) == 0 {
			return nil, 0, "does not compile"
		}
		first := slices.MinFunc(list, func(a, b *cel.Error) int {
			if c := a.Location.Line() - b.Location.Line(); c != 0 {
				return c
			}
			return a.Location.Column() - b.Location.Column()
		})
		return nil, 0, fmt.Sprintf("%s (at character %d)", first.Message, first.Location.Column()+1)
	}
	if ast.OutputType() != cel.BoolType {
		return nil, 0, "must be true or false, and is " + ast.OutputType().String()
	}
	if wrong := misspeltCategory(ast); wrong != "" {
		return nil, 0, wrong
	}
	estimate, err := l.env.EstimateCost(ast, sizes{})
	switch {
	case err != nil:
		return nil, 0, "has a cost that cannot be told"
	case estimate.Max > maxCost:
		return nil, 0, fmt.Sprintf("costs up to %d steps, more than %d", estimate.Max, maxCost)
	}
	p, err = l.env.Program(ast, cel.EvalOptions(cel.OptOptimize))
	if err != nil {
		return nil, 0, "does not compile: " + err.Error()
	}
	return p, estimate.Max, ""
}

// sizes are the largest sizes of what an input holds.
type sizes struct{}

// EstimateCallCost implements [cost.Estimator].
func (sizes) EstimateCallCost(string, string, *cost.AstNode, []cost.AstNode) *cost.CallEstimate {
	return nil
}

// EstimateSize implements [cost.Estimator].
func (sizes) EstimateSize(n cost.AstNode) *cost.SizeEstimate {
	if len(n.Path()) == 0 {
		return nil
	}
	switch n.Type().Kind() { //nolint:exhaustive // everything else has no size
	case types.ListKind:
		return &cost.SizeEstimate{Max: maxList}
	case types.StringKind:
		return &cost.SizeEstimate{Max: maxString}
	}
	return nil
}

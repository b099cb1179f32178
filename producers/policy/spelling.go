package policy

import (
	"regexp/syntax"
	"strconv"
	"strings"

	"cel.dev/cel-go/cel"
	"cel.dev/cel-go/common/ast"
	"cel.dev/cel-go/common/operators"

	"github.com/annals-memory/annals/events/token"
)

const categoryVariable = "cand.category"

// misspelt is a text of a condition that the category of no candidate ever is.
type misspelt struct {
	expr ast.Expr
	text string
}

// misspeltCategory says what is wrong with a condition that compares the category
// with a text that is not spelt as [token.CategoryName] spells it, and where: its
// rule would never hold, or always. It returns "" if nothing is. Texts that are put
// together or chosen by the condition are not looked at.
func misspeltCategory(checked *cel.Ast) string {
	tree := checked.NativeRep()
	var first *misspelt
	at := func(m *misspelt) int32 {
		r, _ := tree.SourceInfo().GetOffsetRange(m.expr.ID())
		return r.Start
	}
	found := func(m *misspelt) {
		if m != nil && (first == nil || at(m) < at(first)) {
			first = m
		}
	}
	isCategory := func(e ast.Expr) bool { return e.Kind() == ast.IdentKind && e.AsIdent() == categoryVariable }
	ast.PreOrderVisit(tree.Expr(), ast.NewExprVisitor(func(e ast.Expr) {
		switch e.Kind() { //nolint:exhaustive // Nothing else compares.
		case ast.CallKind:
			for _, other := range comparedWith(e.AsCall(), isCategory) {
				found(misspeltIn(other, e.AsCall().FunctionName()))
			}
		case ast.ComprehensionKind:
			// [...].exists(c, c == cand.category)
			c := e.AsComprehension()
			ast.PreOrderVisit(c.LoopStep(), ast.NewExprVisitor(func(step ast.Expr) {
				if step.Kind() != ast.CallKind {
					return
				}
				for _, other := range comparedWith(step.AsCall(), isCategory) {
					if other.Kind() == ast.IdentKind && other.AsIdent() == c.IterVar() {
						found(misspeltIn(c.IterRange(), step.AsCall().FunctionName()))
					}
				}
			}))
		}
	}))
	if first == nil {
		return ""
	}
	location := tree.SourceInfo().GetStartLocation(first.expr.ID())
	place := " (at character " + strconv.Itoa(location.Column()+1) + ")"
	if spelt := token.CategoryName(first.text); !token.MixesScripts(spelt) {
		return "compares cand.category with " + strconv.Quote(first.text) + ", which no category is spelt like; " +
			strconv.Quote(spelt) + " would be one" + place
	}
	return "compares cand.category with " + strconv.QuoteToASCII(first.text) + ", which mixes the letters of several scripts, as no category does" + place
}

// comparedWith are the operands of a call that are held against the category.
func comparedWith(c ast.CallExpr, isCategory func(ast.Expr) bool) []ast.Expr {
	switch c.FunctionName() {
	case operators.Equals, operators.NotEquals, operators.Less, operators.LessEquals, operators.Greater,
		operators.GreaterEquals, operators.In, "contains", "startsWith", "endsWith", "matches":
	default:
		return nil
	}
	operands := c.Args()
	if c.IsMemberFunction() {
		operands = append([]ast.Expr{c.Target()}, operands...)
	}
	var others []ast.Expr
	has := false
	for _, e := range operands {
		switch {
		case isCategory(e):
			has = true
		case e.Kind() == ast.ListKind: // x in [cand.category, "y"]
			listed := false
			for _, element := range e.AsList().Elements() {
				listed = listed || isCategory(element)
			}
			if has = has || listed; !listed {
				others = append(others, e)
			}
		default:
			others = append(others, e)
		}
	}
	if !has {
		return nil
	}
	return others
}

// misspeltIn finds the first misspelt text among a text or the elements of a list.
func misspeltIn(e ast.Expr, function string) *misspelt {
	switch e.Kind() { //nolint:exhaustive // Nothing else is a text as it stands.
	case ast.ListKind:
		for _, element := range e.AsList().Elements() {
			if m := misspeltIn(element, function); m != nil {
				return m
			}
		}
	case ast.LiteralKind:
		text, ok := e.AsLiteral().Value().(string)
		if ok && !isSpelt(text, function) {
			return &misspelt{e, text}
		}
	}
	return nil
}

// isSpelt reports whether a category can be, hold, begin or end with, or match a text.
func isSpelt(text, function string) bool {
	switch function {
	case "matches":
		re, err := syntax.Parse(text, syntax.Perl)
		return err != nil || isSpeltPattern(re) // what does not parse is refused elsewhere
	case "contains", "startsWith", "endsWith", operators.Less, operators.LessEquals, operators.Greater, operators.GreaterEquals:
		text = strings.Trim(text, " ") // a blank of its inside
		return text == "" || token.CategoryName(text) == text
	default:
		return token.CategoryName(text) == text && !token.MixesScripts(text)
	}
}

// isSpeltPattern looks at the letters that a pattern asks for one by one.
func isSpeltPattern(re *syntax.Regexp) bool {
	if re.Op == syntax.OpLiteral && re.Flags&syntax.FoldCase == 0 {
		text := strings.Trim(string(re.Rune), " ")
		if text != "" && token.CategoryName(text) != text {
			return false
		}
	}
	for _, sub := range re.Sub {
		if !isSpeltPattern(sub) {
			return false
		}
	}
	return true
}

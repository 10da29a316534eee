// SPDX-License-Identifier: Apache-2.0

package measure

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"text/template"
	"text/template/parse"
	"time"

	rolloutv1alpha1 "slipway.dev/slipway/api/oam/rollout/v1alpha1"
)

// MaxQuery is how many bytes a query may have when it is filled in.
const MaxQuery = 32 << 10

// Fields are what a query may speak of.
type Fields struct {
	// Namespace and Name of the rollout.
	Namespace, Name string
	// Target is the name of the workload, TargetRevision what its new pods carry as a label.
	Target, TargetRevision string
	// Batch is the number of the current batch, from 0.
	Batch int32
	// Interval is the time between two samples, at least a millisecond.
	Interval time.Duration
}

// The names by which a query speaks of the fields.
var fieldNames = []string{"Namespace", "Name", "Target", "TargetRevision", "Batch", "Interval"}

// comparisons are the only functions that a query may call. None of them makes text, and without loops and templates in
// templates whatever is left comes to an end.
var comparisons = []string{"and", "eq", "ge", "gt", "le", "lt", "ne", "not", "or"}

// Render fills in the query of a template.
//
// A field never becomes a part of the language that the query is written in. Text stands there as a quoted string:
// `{namespace={{ .Namespace }}}`. Inside a string that the query itself has quoted it is escaped, and can be a part of it:
// `{pod=~"{{ .Target }}-.*"}`; after =~ and !~ it also stands for itself only. Batch and Interval are numbers and have no
// quotes: `rate(errors[{{ .Interval }}])`; an interval is in whole seconds (90s), or in milliseconds (1500ms).
//
// Besides fields a query may contain comments and {{ if }} with comparisons of .Batch. Errors name the template and the
// field: one that does not exist, what cannot be used, or a result of more than MaxQuery bytes.
func Render(t *rolloutv1alpha1.MetricTemplate, f Fields) (string, error) {
	query, err := render(t, f)
	if err != nil {
		return "", fmt.Errorf("metric template %s: query: %w", t.Name, err)
	}
	return query, nil
}

func render(t *rolloutv1alpha1.MetricTemplate, f Fields) (string, error) {
	if strings.Contains(t.Spec.Query, mark) {
		return "", errors.New("it contains a NUL character")
	}
	parsed, err := template.New("query").Parse(t.Spec.Query)
	if err != nil {
		return "", clearer(err)
	}
	if len(parsed.Templates()) > 1 {
		return "", errors.New("a query cannot define templates")
	}
	if err := check(parsed.Root); err != nil {
		return "", err
	}
	interval, err := duration(f.Interval)
	if err != nil {
		return "", err
	}
	// Text enters the template as a mark only, so that nothing in it can turn the text into something else.
	texts := map[string]string{"Namespace": f.Namespace, "Name": f.Name, "Target": f.Target, "TargetRevision": f.TargetRevision}
	data := map[string]any{"Batch": f.Batch, "Interval": interval}
	for name := range texts {
		data[name] = field(name)
	}
	out := bounded{limit: MaxQuery}
	if err := parsed.Execute(&out, data); err != nil {
		return "", clearer(err)
	}
	query, err := fill(out.String(), t.Spec.Provider.Type, texts)
	switch {
	case err != nil:
		return "", err
	case len(query) > MaxQuery:
		return "", errTooLong
	case strings.TrimSpace(query) == "":
		return "", errors.New("nothing is left when it is filled in")
	}
	return query, nil
}

// field stands in a template where a text will be.
type field string

func (f field) String() string { return mark + string(f) + mark }

// check finds what a query cannot use.
func check(node parse.Node) error {
	switch n := node.(type) {
	case *parse.ListNode:
		if n == nil { // no else
			return nil
		}
		return checkAll(n.Nodes)
	case *parse.ActionNode:
		return check(n.Pipe)
	case *parse.IfNode:
		return errors.Join(check(n.Pipe), check(n.List), check(n.ElseList))
	case *parse.PipeNode:
		if len(n.Decl) > 0 {
			return fmt.Errorf("%s: a query has no variables", n)
		}
		return checkAll(n.Cmds)
	case *parse.CommandNode:
		return checkAll(n.Args)
	case *parse.IdentifierNode:
		if !slices.Contains(comparisons, n.Ident) {
			return fmt.Errorf("{{ %s }}: a query cannot call this function", n.Ident)
		}
		return nil
	case *parse.FieldNode:
		if len(n.Ident) != 1 || !slices.Contains(fieldNames, n.Ident[0]) {
			return fmt.Errorf("{{ %s }}: there is no such field; there are .%s", n, strings.Join(fieldNames, ", ."))
		}
		return nil
	case *parse.StringNode:
		if strings.Contains(n.Text, mark) {
			return errors.New("it contains a NUL character")
		}
		return nil
	case *parse.TextNode, *parse.CommentNode, *parse.NumberNode, *parse.BoolNode:
		return nil
	default:
		return fmt.Errorf("%s: a query uses fields and comparisons only", n)
	}
}

func checkAll[N parse.Node](nodes []N) error {
	for _, n := range nodes {
		if err := check(n); err != nil {
			return err
		}
	}
	return nil
}

// duration is what PromQL reads as one.
func duration(d time.Duration) (string, error) {
	switch {
	case d < time.Millisecond:
		return "", fmt.Errorf("{{ .Interval }}: %s is too short", d)
	case d%time.Second == 0:
		return strconv.FormatInt(int64(d/time.Second), 10) + "s", nil
	default:
		return strconv.FormatInt(d.Milliseconds(), 10) + "ms", nil
	}
}

// clearer leaves out how the library calls the template.
func clearer(err error) error {
	if errors.Is(err, errTooLong) {
		return errTooLong
	}
	return errors.New(strings.TrimPrefix(err.Error(), "template: "))
}

var errTooLong = fmt.Errorf("it has more than %d bytes when it is filled in", MaxQuery)

// bounded is a text that does not grow beyond a limit.
type bounded struct {
	strings.Builder
	limit int
}

func (b *bounded) Write(p []byte) (int, error) {
	if b.Len()+len(p) > b.limit {
		return 0, errTooLong
	}
	return b.Builder.Write(p)
}

// SPDX-License-Identifier: Apache-2.0

package measure

import (
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	rolloutv1alpha1 "slipway.dev/slipway/api/oam/rollout/v1alpha1"
)

func metricTemplate(provider rolloutv1alpha1.MetricProviderType, query string) *rolloutv1alpha1.MetricTemplate {
	return &rolloutv1alpha1.MetricTemplate{
		ObjectMeta: metav1.ObjectMeta{Name: "errors"},
		Spec:       rolloutv1alpha1.MetricTemplateSpec{Provider: rolloutv1alpha1.MetricProvider{Type: provider}, Query: query},
	}
}

func fields() Fields {
	return Fields{Namespace: "shop", Name: "web-rollout", Target: "web.eu", TargetRevision: "web-7d4f", Batch: 2, Interval: 90 * time.Second}
}

func TestRender(t *testing.T) {
	const prometheus, web = rolloutv1alpha1.PrometheusProvider, rolloutv1alpha1.WebProvider
	evil := fields()
	evil.Name = "a\"} or vector(0) # \\\n'`"
	instant := fields()
	instant.Interval = 1500 * time.Millisecond
	never := fields()
	never.Interval = 0
	for name, tt := range map[string]struct {
		provider    rolloutv1alpha1.MetricProviderType
		query       string
		fields      Fields
		want, fails string
	}{
		"text stands as a quoted string":                {prometheus, `up{namespace={{ .Namespace }}, rollout={{.Name}}}`, fields(), `up{namespace="shop", rollout="web-rollout"}`, ""},
		"text can be a part of a string":                {prometheus, `up{a="{{ .Name }}-x", b='x-{{ .Name }}', c=` + "`{{ .Name }}`}", fields(), `up{a="web-rollout-x", b='x-web-rollout', c=` + "`web-rollout`}", ""},
		"in a regular expression text means itself":     {prometheus, `up{pod=~"{{ .Target }}-.*", n !~ {{ .Target }}, x="{{ .Target }}"}`, fields(), `up{pod=~"web\\.eu-.*", n !~ "web\\.eu", x="web.eu"}`, ""},
		"between backquotes nothing is escaped twice":   {prometheus, "up{pod=~`{{ .Target }}-\\d+`}", fields(), "up{pod=~`web\\.eu-\\d+`}", ""},
		"numbers have no quotes":                        {prometheus, `rate(errors{batch="{{ .Batch }}"}[{{ .Interval }}]) > {{ .Batch }}`, fields(), `rate(errors{batch="2"}[90s]) > 2`, ""},
		"an interval may be shorter than a second":      {prometheus, `rate(errors[{{ .Interval }}])`, instant, `rate(errors[1500ms])`, ""},
		"a text cannot end the string that it is":       {prometheus, `up{a={{ .Name }}}`, evil, "up{a=" + `"a\"} or vector(0) # \\\n'` + "`" + `"}`, ""},
		"a text cannot end the string that it is in":    {prometheus, `up{a="\"{{ .Name }}"}`, evil, "up{a=" + `"\"a\"} or vector(0) # \\\n'` + "`" + `"}`, ""},
		"a text cannot end a string in single quotes":   {prometheus, `up{a='{{ .Name }}'}`, evil, `up{a='a"} or vector(0) # \\\n\'` + "`'}", ""},
		"a text cannot end a comment":                   {prometheus, "up # {{ .Name }}\n > 1", evil, "up # " + `"a\"} or vector(0) # \\\n'` + "`\"\n > 1", ""},
		"a backquote cannot stand between backquotes":   {prometheus, "up{a=`{{ .Name }}`}", evil, "", "{{ .Name }}: \"a\\\"} or"},
		"nor does a backslash before it let it out":     {prometheus, `up{a="\{{ .Name }}"}`, evil, "", "{{ .Name }}: a backslash stands before it"},
		"a backslash that is escaped is a character":    {prometheus, `up{a="\\{{ .Name }}"}`, fields(), `up{a="\\web-rollout"}`, ""},
		"a quote in a comment opens no string":          {prometheus, "up # it's {{ .Name }}\n", fields(), "up # it's \"web-rollout\"\n", ""},
		"what differs by batch can be asked for":        {prometheus, `{{ if and (gt .Batch 0) (not (eq .Batch 9)) }}sum(up){{ else }}max(up){{ end }}`, fields(), `sum(up)`, ""},
		"comments and trimming are left out":            {prometheus, "{{/* up */ -}}\n up", fields(), `up`, ""},
		"a JSONPath takes text as a string":             {web, `{.sets[?(@.name=={{ .Name }})].errors}`, fields(), `{.sets[?(@.name=="web-rollout")].errors}`, ""},
		"a JSONPath takes text in a string, and as key": {web, `{.sets['{{ .Target }}'].x["#"]}`, fields(), `{.sets['web.eu'].x["#"]}`, ""},
		"a JSONPath takes no text with quotes":          {web, `{.sets['{{ .Name }}']}`, evil, "", "cannot stand in a JSONPath"},
		"a string that has no end takes no text":        {prometheus, `up{a="{{ .Name }}`, fields(), "", "the string that \" begins has no end"},
		"an unknown field is named":                     {prometheus, `up{a={{ .Owner }}}`, fields(), "", "metric template errors: query: {{ .Owner }}: there is no such field; there are .Namespace"},
		"a field of a field is unknown":                 {prometheus, `{{ .Name.First }}`, fields(), "", "{{ .Name.First }}: there is no such field"},
		"an interval of nothing is refused":             {prometheus, `up[{{ .Interval }}]`, never, "", "{{ .Interval }}: 0s is too short"},
		"syntax errors say where":                       {prometheus, "up\n{{ .Name", fields(), "", "query:2: unclosed action"},
		"a loop is refused":                             {prometheus, `{{ range 1000000000000 }}{{ end }}`, fields(), "", "fields and comparisons only"},
		"a template in a template is refused":           {prometheus, `{{ define "a" }}{{ template "a" }}{{ end }}up`, fields(), "", "cannot define templates"},
		"a template that calls itself is refused":       {prometheus, `up{{ template "query" }}`, fields(), "", "fields and comparisons only"},
		"a function that makes text is refused":         {prometheus, `{{ printf "%1000000d" 1 }}`, fields(), "", "{{ printf }}: a query cannot call this function"},
		"so is one at the end of a pipe":                {prometheus, `{{ .Name | html }}`, fields(), "", "{{ html }}: a query cannot call this function"},
		"a variable is refused":                         {prometheus, `{{ $x := .Name }}{{ $x }}`, fields(), "", "no variables"},
		"all fields at once are refused":                {prometheus, `{{ . }}`, fields(), "", "fields and comparisons only"},
		"text is not compared":                          {prometheus, `{{ if eq .Batch .Name }}up{{ end }}`, fields(), "", "incompatible types"},
		"a query may not forge a mark":                  {prometheus, "up\x00Name", fields(), "", "NUL"},
		"nor forge one by an escape":                    {prometheus, `up{{ "\x00Secret\x00" }}`, fields(), "", "NUL"},
		"nor leave one open":                            {prometheus, `{{ .Name }}{{ "\x00" }}`, fields(), "", "NUL"},
		"a comment alone is no query":                   {prometheus, `{{/* nothing */}}`, fields(), "", "nothing is left"},
		"an empty one is no query":                      {prometheus, ``, fields(), "", "nothing is left"},
		"what is too long is refused":                   {prometheus, strings.Repeat("x", MaxQuery) + "{{ .Batch }}", fields(), "", "more than 32768 bytes"},
		"what is filled in counts too":                  {prometheus, strings.Repeat("x", MaxQuery-6) + "{{ if true }}{{ .Name }}{{ end }}", fields(), "", "more than 32768 bytes"},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := Render(metricTemplate(tt.provider, tt.query), tt.fields)
			if tt.fails != "" {
				if err == nil || !strings.Contains(err.Error(), tt.fails) {
					t.Fatalf("got %q and error %v, want an error with %q", got, err, tt.fails)
				}
				return
			}
			if err != nil || got != tt.want {
				t.Errorf("got  %s\nwant %s\nerror %v", got, tt.want, err)
			}
		})
	}
}

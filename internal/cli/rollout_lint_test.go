// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestLint(t *testing.T) {
	good, bad := filepath.Join("lint", "testdata", "good.yaml"), filepath.Join("lint", "testdata", "bad.yaml")
	piped, err := os.ReadFile(good)
	if err != nil {
		t.Fatal(err)
	}
	for sentence, test := range map[string]struct {
		args   []string
		in     string
		status int
		out    string
	}{
		"what is right": {[]string{"-f", good}, "", ExitFine, "" +
			"ok     lint/testdata/good.yaml: document 1 (RolloutTrait web): goals of 10 pods: 1 5 10 (assumed; --size says otherwise)\n" +
			"ok     lint/testdata/good.yaml: document 3 (RolloutTrait twelve): goals of 12 pods: 5 12 (assumed; --size says otherwise)\n" +
			"ok     lint/testdata/good.yaml: document 3 (RolloutTrait sized): goals of 8 pods: 1 2 4 6 8\n" +
			"ok     lint/testdata/good.yaml: document 4 (MetricTemplate errors)\n"},
		"what is wrong for a size, from standard input": {[]string{"-f", "-", "--size", "3"}, string(piped), ExitError, "" +
			"ok     -: document 1 (RolloutTrait web): goals of 3 pods: 1 2 3\n" +
			"wrong  -: document 3 (RolloutTrait twelve): spec.rolloutPlan.rolloutBatches[0].replicas: the batches up to this one take 5 pods of 3, and leave none for the last one\n" +
			"ok     -: document 3 (RolloutTrait sized): goals of 8 pods: 1 2 4 6 8\n" +
			"ok     -: document 4 (MetricTemplate errors)\n"},
		"the text of others is made safe": {[]string{"-f", "-"}, "{apiVersion: standard.oam.dev/v1alpha1, kind: MetricTemplate, metadata: {name: \"a\\e[31m\"}, spec: {provider: {type: web, address: \"http://a\"}, query: x}}",
			ExitError, ""},
	} {
		t.Run(sentence, func(t *testing.T) {
			r := newRun(t)
			r.in = test.in
			err := r.execute(t.Context(), t, append([]string{"rollout", "lint"}, test.args...)...)
			if got := ExitStatus(err); got != test.status || err != nil && !IsTold(err) {
				t.Errorf("exit status %d (%v), want %d", got, err, test.status)
			}
			if strings.Contains(r.out.String(), "\x1b") {
				t.Errorf("an escape reaches the terminal: %q", r.out.String())
			}
			if diff := cmp.Diff(test.out, r.out.String()); test.out != "" && diff != "" {
				t.Errorf("output (-want +got):\n%s", diff)
			}
		})
	}
	for sentence, test := range map[string]struct {
		args []string
		want string
	}{
		"no file":                  {nil, "give the manifest to check: -f FILE"},
		"a file that is not there": {[]string{"-f", "lost.yaml"}, "lost.yaml"},
		"a size below nothing":     {[]string{"-f", good, "--size", "-1"}, "cannot be negative"},
	} {
		t.Run(sentence, func(t *testing.T) {
			err := newRun(t).execute(t.Context(), t, append([]string{"rollout", "lint"}, test.args...)...)
			if err == nil || IsTold(err) || !strings.Contains(err.Error(), test.want) {
				t.Errorf("error %v, want %q in it", err, test.want)
			}
		})
	}
	t.Run("several files", func(t *testing.T) {
		r := newRun(t)
		err := r.execute(t.Context(), t, "rollout", "lint", "-f", good, "-f", bad)
		if ExitStatus(err) != ExitError || !strings.Contains(r.out.String(), "good.yaml") || !strings.Contains(r.out.String(), "bad.yaml") {
			t.Errorf("error %v, and output:\n%s", err, r.out.String())
		}
	})
}

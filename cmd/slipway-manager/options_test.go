// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/pflag"
)

func parse(t *testing.T, args ...string) *options {
	t.Helper()
	o := defaultOptions()
	flags := pflag.NewFlagSet("slipway-manager", pflag.ContinueOnError)
	o.addFlags(flags)
	if err := flags.Parse(args); err != nil {
		t.Fatal(err)
	}
	return o
}

func TestWrongFlagsAreNamedAllAtOnce(t *testing.T) {
	tests := map[string]struct {
		args []string
		want []string // parts of the error; none means that the flags are right
	}{
		"the defaults are right": {},
		"no work in parallel": {
			args: []string{"--concurrency=0", "--write-concurrency=-1"},
			want: []string{"--concurrency is 0, it must be at least 1", "--write-concurrency is -1"},
		},
		"a freshness timeout of nothing would never wait": {
			args: []string{"--freshness-timeout=0s"},
			want: []string{"--freshness-timeout is 0s"},
		},
		"a lease that ends before its leader gives up": {
			args: []string{"--leader-election-lease-duration=10s"},
			want: []string{"--leader-election-lease-duration is 10s, it must be more than the renew deadline of 10s"},
		},
		"a leader that gives up before it tries again": {
			args: []string{"--leader-election-renew-deadline=2400ms"},
			want: []string{"--leader-election-renew-deadline is 2.4s, it must be more than 1.2 times the retry period of 2s"},
		},
		"lease times do not matter without a lease": {
			args: []string{"--leader-elect=false", "--leader-election-lease-duration=1s"},
		},
		"a format and a level that do not exist": {
			args: []string{"--log-format=xml", "--log-level=loud"},
			want: []string{`--log-format is "xml", it must be text or json`, `--log-level is "loud"`},
		},
		"definitions from nowhere, and fewer revisions than none": {
			args: []string{"--definition-namespace=", "--application-revision-limit=-1"},
			want: []string{"--definition-namespace is empty: name a namespace", "--application-revision-limit is -1, it must not be negative"},
		},
		"a controller that does not exist": {
			args: []string{"--controllers=*,-daemonset"},
			want: []string{`--controllers names "-daemonset", there are: application, approllout, cafedeployment, cloneset, inplaceset, rollouttrait, statefulset`},
		},
		"a namespace without a name": {
			args: []string{"--watch-namespaces=a,,b"},
			want: []string{"--watch-namespaces has an empty name"},
		},
	}
	for sentence, test := range tests {
		t.Run(sentence, func(t *testing.T) {
			_, err := parse(t, test.args...).complete()
			if (err != nil) != (len(test.want) > 0) {
				t.Fatalf("complete() = %v, want an error with %q", err, test.want)
			}
			for _, want := range test.want {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("the error does not say %q: %v", want, err)
				}
			}
		})
	}
}

func TestApplicationsFindTheirDefinitionsAndKeepTheirRevisionsAsAsked(t *testing.T) {
	if o := parse(t); o.definitionNamespace != "slipway-system" || o.revisionLimit != 10 {
		t.Errorf("the defaults are %s and %d", o.definitionNamespace, o.revisionLimit)
	}
	if o := parse(t, "--definition-namespace=vela-system", "--application-revision-limit=3"); o.definitionNamespace != "vela-system" || o.revisionLimit != 3 {
		t.Errorf("asked otherwise they are %s and %d", o.definitionNamespace, o.revisionLimit)
	}
}

func TestControllersAreChosenByName(t *testing.T) {
	tests := map[string]struct {
		list []string
		want []string // nil means an error
	}{
		"a star means all":                      {[]string{"*"}, []string{"application", "approllout", "cafedeployment", "cloneset", "inplaceset", "rollouttrait", "statefulset"}},
		"a name means that one":                 {[]string{"cloneset"}, []string{"cloneset"}},
		"naming one twice runs it once":         {[]string{"cloneset", "*", "cloneset"}, []string{"application", "approllout", "cafedeployment", "cloneset", "inplaceset", "rollouttrait", "statefulset"}},
		"leaving the last one out is a mistake": {[]string{"*", "-application", "-approllout", "-cafedeployment", "-cloneset", "-inplaceset", "-rollouttrait", "-statefulset"}, nil},
		"leaving out wins in any order":         {[]string{"-cloneset", "cloneset"}, nil},
		"nothing named is a mistake":            {nil, nil},
	}
	for sentence, test := range tests {
		t.Run(sentence, func(t *testing.T) {
			got, err := enabledControllers(test.list)
			if (err != nil) != (test.want == nil) {
				t.Fatalf("enabledControllers(%q) = %v, want %q", test.list, err, test.want)
			}
			if diff := cmp.Diff(test.want, got); err == nil && diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

func TestTheLeaseStandsInTheManagersOwnNamespace(t *testing.T) {
	file := filepath.Join(t.TempDir(), "namespace")
	if got := ownNamespace(file); got != "slipway-system" {
		t.Errorf("outside a cluster: %q", got)
	}
	if err := os.WriteFile(file, []byte("releases\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if got := ownNamespace(file); got != "releases" {
		t.Errorf("in a pod: %q", got)
	}

	o := parse(t, "--leader-election-namespace=elsewhere")
	if _, err := o.complete(); err != nil || o.leaseNamespace != "elsewhere" {
		t.Errorf("a flag is overruled: %q, %v", o.leaseNamespace, err)
	}
}

func TestTheLogIsWrittenAsAsked(t *testing.T) {
	tests := map[string]struct {
		args          []string
		want, wantNot string
	}{
		"text says key=value":            {nil, `msg=started kind=CloneSet`, "deep"},
		"json is for machines":           {[]string{"--log-format=json"}, `"msg":"started","kind":"CloneSet"`, "deep"},
		"debug shows what info does not": {[]string{"--log-level=debug"}, "deep", "{"},
		"error leaves the rest out":      {[]string{"--log-level=error"}, "failed", "started"},
	}
	for sentence, test := range tests {
		t.Run(sentence, func(t *testing.T) {
			var out bytes.Buffer
			logger := parse(t, test.args...).newLogger(&out)
			logger.Info("started", "kind", "CloneSet")
			logger.V(1).Info("deep")
			logger.Error(os.ErrNotExist, "failed")
			if !strings.Contains(out.String(), test.want) || strings.Contains(out.String(), test.wantNot) {
				t.Errorf("the log is\n%swant %q and not %q", out.String(), test.want, test.wantNot)
			}
		})
	}
}

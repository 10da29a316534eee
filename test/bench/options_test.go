// SPDX-License-Identifier: Apache-2.0

package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/pflag"
)

func TestOptions(t *testing.T) {
	tests := map[string]struct {
		args string
		says string // part of the error; empty: none
	}{
		"the defaults are fine":                       {"", ""},
		"numbers of pods may be repeated":             {"--pods 5 --pods 6,7", ""},
		"a manager of the user's needs its cluster":   {"--manager-pid 5", "--manager-pid needs --kubeconfig"},
		"a manager of the user's on their cluster":    {"--manager-pid 5 --kubeconfig x --user-agent other --audit-log y", ""},
		"a manager is started or taken, not both":     {"--manager-pid 5 --kubeconfig x --manager z", "exclude each other"},
		"a manager that nobody started has a cluster": {"--manager none", "--manager=none needs --kubeconfig"},
		"a manager that cannot be seen":               {"--manager none --kubeconfig x", ""},
		"an audit log is of a cluster of the user's":  {"--audit-log y", "--audit-log needs --kubeconfig"},
		"so is a process of its plane":                {"--controller-manager-pid 5", "--controller-manager-pid needs --kubeconfig"},
		"a scenario must be known":                    {"--scenarios create,destroy", `"destroy"`},
		"a kind must be known":                        {"--kind pony", `"pony"`},
		"a fleet has its scenarios":                   {"--kind cafedeployment --scenarios ceiling,fleet-release", ""},
		"and no others":                               {"--kind cafedeployment --scenarios create", `"create", of a cafedeployment there are`},
		"nor has a set those of a fleet":              {"--scenarios fleet-create", `"fleet-create", of a cloneset there are`},
		"rollouts have theirs":                        {"--kind rollouttrait --scenarios ceiling,rollouts,rollouts-rest", ""},
		"and not those of a fleet":                    {"--kind rollouttrait --scenarios fleet-rest", `"fleet-rest", of a rollouttrait there are`},
		"a batch has a pod":                           {"--rollout-pods 2 --batches 3", "--batches is 3"},
		"rollouts are there":                          {"--rollouts 0", "--rollouts is 0"},
		"the kind of pod sets must be known":          {"--pod-sets Pony", `--pod-sets is "Pony"`},
		"a group has a pod in each unit":              {"--units 5 --batch-size 4", "--batch-size is 4"},
		"a fleet has ships":                           {"--fleet 0", "--fleet is 0"},
		"no pods are nothing to measure":              {"--pods 0", "--pods is 0"},
		"no runs are nothing to measure":              {"--runs 0", "--runs is 0"},
		"somebody must be counted":                    {"--user-agent=", "--user-agent is empty"},
		"rest takes a while":                          {"--rest-for 0s", "--rest-for is 0s"},
		"nobody has negative patience":                {"--patience -1s", "--patience is -1s"},
		"nodes do not work ahead":                     {"--node-delay -1s", "--node-delay is -1s"},
		"a process has a positive number":             {"--manager-pid -1 --kubeconfig x", "no process"},
	}
	for sentence, test := range tests {
		t.Run(sentence, func(t *testing.T) {
			o := defaultOptions()
			flags := pflag.NewFlagSet("bench", pflag.ContinueOnError)
			o.addFlags(flags)
			if err := flags.Parse(strings.Fields(test.args)); err != nil {
				t.Fatal(err)
			}
			if err := o.validate(); (err == nil) != (test.says == "") || err != nil && !strings.Contains(err.Error(), test.says) {
				t.Errorf("got error %v, want one that says %q", err, test.says)
			}
		})
	}
}

func TestPathsForTheManager(t *testing.T) {
	here, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	for sentence, test := range map[string]struct{ program, want string }{
		"a path is made absolute":            {"other", filepath.Join(here, "other")},
		"an absolute path stays":             {"/bin/other", "/bin/other"},
		"no path stays none":                 {"", ""},
		"the word for no program is no path": {noProgram, noProgram},
	} {
		t.Run(sentence, func(t *testing.T) {
			o := &options{managerProgram: test.program, kubeconfig: "config"}
			if err := o.absolute(); err != nil {
				t.Fatal(err)
			}
			if o.managerProgram != test.want || o.kubeconfig != filepath.Join(here, "config") {
				t.Errorf("got program %s and kubeconfig %s, want %s and %s", o.managerProgram, o.kubeconfig, test.want, filepath.Join(here, "config"))
			}
		})
	}
}

func TestRepeatedPods(t *testing.T) {
	o := defaultOptions()
	flags := pflag.NewFlagSet("bench", pflag.ContinueOnError)
	o.addFlags(flags)
	if err := flags.Parse([]string{"--pods", "5", "--pods=6,7"}); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]int{5, 6, 7}, o.pods); diff != "" {
		t.Errorf("want -, got +:\n%s", diff)
	}
}

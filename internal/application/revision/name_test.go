// SPDX-License-Identifier: Apache-2.0

package revision

import (
	"errors"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/util/validation"
)

func TestNumbersInNames(t *testing.T) {
	for sentence, test := range map[string]struct {
		owner, name string
		want        int64
	}{
		"a revision":                             {"web", "web-v3", 3},
		"a revision of an owner that looks like": {"web-v1", "web-v1-v12", 12},
		"of another owner":                       {"web", "webs-v3", 0},
		"of an owner whose name goes on":         {"web", "web-v1-v12", 0},
		"the owner":                              {"web", "web", 0},
		"no number":                              {"web", "web-v", 0},
		"a placeholder":                          {"web", Placeholder("web"), 0},
		"a zero in front":                        {"web", "web-v03", 0},
		"a sign":                                 {"web", "web-v+3", 0},
		"less than nothing":                      {"web", "web-v-3", 0},
		"a hash":                                 {"web", "web-v545f44d985", 0},
		"the highest":                            {"web", "web-v999999999", 999999999},
		"higher than the highest":                {"web", "web-v1000000000", 0},
		"higher than numbers go":                 {"web", "web-v99999999999999999999", 0},
	} {
		t.Run(sentence, func(t *testing.T) {
			if got := NumberOf(test.owner, test.name); got != test.want {
				t.Errorf("got %d, want %d", got, test.want)
			}
		})
	}
}

func TestTheLongestNameFitsIntoALabel(t *testing.T) {
	name := Name(strings.Repeat("a", 52), maxNumber)
	if wrong := validation.IsDNS1123Label(name); len(wrong) > 0 {
		t.Errorf("%s: %v", name, wrong)
	}
}

func TestNamesOfOthersAreSkipped(t *testing.T) {
	number, err := nextFree("web", 3, map[string]bool{"web-v4": true, "web-v5": true, "web-v7": true})
	if err != nil || number != 6 {
		t.Errorf("got %d, %v; want 6", number, err)
	}
	for _, taken := range []map[string]bool{nil, {"web-v999999999": true}} {
		highest := int64(maxNumber - len(taken))
		if number, err := nextFree("web", highest, taken); !errors.Is(err, errNumbersUsedUp) {
			t.Errorf("after %d: got %d, %v; want the error that they are used up", highest, number, err)
		}
	}
}

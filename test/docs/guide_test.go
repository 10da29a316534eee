// SPDX-License-Identifier: Apache-2.0

package docs

import (
	"context"
	"errors"
	"io"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	"k8s.io/utils/clock"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/yaml"

	cafev1alpha1 "slipway.dev/slipway/api/cafe/v1alpha1"
	"slipway.dev/slipway/internal/cli"
	"slipway.dev/slipway/internal/cli/lint"
)

var (
	// command is a call of slipway in a block or between backticks.
	command  = regexp.MustCompile("(?m)(?:^(?:\\$ )?|`)((?:bin/)?slipway [^`|&>\n#]*)")
	manifest = regexp.MustCompile("(?ms)^```yaml\n(apiVersion: apps.cafe.*?)^```$")
)

// TestCommandsOfGuidesAreKnown takes every call of slipway in a guide and has the command read it: its name, its arguments and
// its flags. Nothing is asked of a cluster.
func TestCommandsOfGuidesAreKnown(t *testing.T) {
	found := map[string]int{}
	for _, page := range glob(t, "docs/guide/*.md") {
		for _, call := range command.FindAllStringSubmatch(read(t, page), -1) {
			if err := understand(strings.Fields(call[1])[1:]); err != nil {
				t.Errorf("%s: %q: %v", filepath.Base(page), call[1], err)
			}
			found[filepath.Base(page)]++
		}
	}
	if n := found["release-across-cells.md"]; n < 10 {
		t.Errorf("the guide to releases across cells has only %d commands", n)
	}
}

// TestEveryCommandIsInAGuide looks for each command, by its whole name, in the guides.
func TestEveryCommandIsInAGuide(t *testing.T) {
	var guides strings.Builder
	for _, page := range glob(t, "docs/guide/*.md") {
		guides.WriteString(read(t, page))
	}
	root := cli.New(cli.Environment{Streams: genericiooptions.IOStreams{In: strings.NewReader(""), Out: io.Discard, ErrOut: io.Discard}, Clock: clock.RealClock{}, Program: "slipway"})
	found := 0
	var look func(*cobra.Command)
	look = func(c *cobra.Command) {
		for _, below := range c.Commands() {
			look(below)
		}
		if c.HasSubCommands() || c.Hidden || c.Name() == "version" {
			return
		}
		found++
		if !strings.Contains(guides.String(), c.CommandPath()) {
			t.Errorf("no guide speaks of %s", c.CommandPath())
		}
	}
	look(root)
	if found < 30 {
		t.Errorf("there are only %d commands", found)
	}
}

func TestACommandThatDoesNotExistIsNotUnderstood(t *testing.T) {
	for _, call := range []string{"confirme web", "confirm", "get cafe web --until-setled", "undo web --to-revision x"} {
		if err := understand(strings.Fields(call)); err == nil {
			t.Errorf("%q is understood", call)
		}
	}
}

// understand has the command line read as the program would, up to where it would begin to work.
func understand(args []string) error {
	for i, a := range args {
		args[i] = strings.Trim(a, "…[]")
	}
	root := cli.New(cli.Environment{
		Streams: genericiooptions.IOStreams{In: strings.NewReader(""), Out: io.Discard, ErrOut: io.Discard},
		Getenv:  func(string) string { return "" }, Clock: clock.RealClock{}, Program: "slipway",
	})
	read := errors.New("the command line was read")
	var stop func(*cobra.Command)
	stop = func(c *cobra.Command) {
		if c.RunE != nil {
			c.RunE = func(*cobra.Command, []string) error { return read }
		}
		for _, below := range c.Commands() {
			stop(below)
		}
	}
	stop(root)
	root.SetArgs(args)
	if err := root.ExecuteContext(context.Background()); !errors.Is(err, read) {
		return err
	}
	return nil
}

// TestManifestsOfGuidesAreRead reads the CafeDeployments and InPlaceSets in guides, with no field that the API does not know.
func TestManifestsOfGuidesAreRead(t *testing.T) {
	found := 0
	for _, page := range glob(t, "docs/guide/*.md") {
		for _, block := range manifest.FindAllStringSubmatch(read(t, page), -1) {
			d := &cafev1alpha1.CafeDeployment{}
			if err := yaml.UnmarshalStrict([]byte(block[1]), d); err != nil {
				t.Errorf("%s: %v", filepath.Base(page), err)
			}
			if d.Spec.Replicas == nil || len(d.Spec.Topology.Values) == 0 {
				t.Errorf("%s: the manifest lacks replicas or units", filepath.Base(page))
			}
			found++
		}
	}
	if found == 0 {
		t.Error("no guide has a manifest of a CafeDeployment")
	}
}

var ofRollouts = regexp.MustCompile("(?ms)^```yaml\n(apiVersion: standard.oam.dev.*?)^```$")

// TestRolloutsOfGuidesAreSound checks the RolloutTraits and MetricTemplates in guides as `slipway rollout lint` does, for the ten pods of
// which the guides speak.
func TestRolloutsOfGuidesAreSound(t *testing.T) {
	found := map[string]int{}
	for _, page := range glob(t, "docs/guide/*.md") {
		for _, block := range ofRollouts.FindAllStringSubmatch(read(t, page), -1) {
			checked, err := lint.File(filepath.Base(page), strings.NewReader(block[1]), ptr.To(10))
			if err != nil {
				t.Error(err)
			}
			for _, c := range checked {
				for _, f := range c.Findings {
					t.Errorf("%s: %s", c.Where, f)
				}
				found[filepath.Base(page)]++
			}
		}
	}
	for page, n := range map[string]int{"batch-release-a-deployment.md": 2, "gate-a-release-by-prometheus.md": 4, "approve-by-webhook.md": 2} {
		if found[page] < n {
			t.Errorf("%s has only %d manifests of rollouts", page, found[page])
		}
	}
}

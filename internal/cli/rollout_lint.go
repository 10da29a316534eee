// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"slipway.dev/slipway/internal/cli/lint"
	"slipway.dev/slipway/internal/cli/tree"
)

func newLint(env Environment) *cobra.Command {
	var files []string
	size := 0
	cmd := &cobra.Command{
		Use:   "lint -f FILE",
		Short: "Check manifests of rollouts without a cluster",
		Long: "Check the RolloutTraits, AppRollouts and MetricTemplates of manifests, and the rolloutPlans of Applications, and ask no cluster:\n" +
			"fields that do not exist, values that the API would refuse, batches that do not add up, queries that cannot be filled in. Objects\n" +
			"of other kinds are passed over; app render checks the rest of an Application.\n\n" +
			"Batches need the number of pods that they divide. --size says how many the workload has; without it one is assumed that they add up\n" +
			"for, and it is an error when there is none.\n\n" +
			"The exit status is 0 when nothing is wrong, and 1 otherwise.",
		Example: fmt.Sprintf("  %[1]s rollout lint -f rollout.yaml --size 10\n\n  kubectl kustomize . | %[1]s rollout lint -f -", env.Program),
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			switch {
			case len(files) == 0:
				return errors.New("give the manifest to check: -f FILE")
			case size < 0:
				return errors.New("--size cannot be negative")
			}
			var known *int
			if cmd.Flags().Changed("size") {
				known = &size
			}
			return lintFiles(env, files, known)
		},
	}
	cmd.Flags().StringArrayVarP(&files, "filename", "f", nil, "a manifest; - reads standard input; may be repeated")
	cmd.Flags().IntVar(&size, "size", 0, "how many pods the workloads have, of two workloads both together")
	return cmd
}

func lintFiles(env Environment, files []string, size *int) error {
	wrong := 0
	for _, file := range files {
		checked, err := lintFile(env, file, size)
		if err != nil {
			return err
		}
		for _, c := range checked {
			lines := []string{strings.TrimSuffix(fmt.Sprintf("ok     %s: %s", c.Where, c.Note), ": ")}
			if len(c.Findings) > 0 {
				lines = nil
			}
			for _, f := range c.Findings {
				lines = append(lines, fmt.Sprintf("wrong  %s: %s", c.Where, f))
			}
			for i := range lines {
				lines[i] = tree.Clean(lines[i])
			}
			wrong += len(c.Findings)
			if err := writeLines(env.Streams.Out, lines); err != nil {
				return err
			}
		}
	}
	if wrong > 0 {
		return Told{ExitError, fmt.Sprintf("%d things are wrong", wrong)}
	}
	return nil
}

func lintFile(env Environment, file string, size *int) ([]lint.Checked, error) {
	in := env.Streams.In
	if file != "-" {
		f, err := os.Open(file)
		if err != nil {
			return nil, err
		}
		defer f.Close()
		in = f
	}
	return lint.File(file, in, size)
}

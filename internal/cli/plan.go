// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"slipway.dev/slipway/internal/cli/forecast"
	"slipway.dev/slipway/internal/cli/saved"
)

// planRelease is one call of `plan`.
type planRelease struct {
	env   Environment
	flags *genericclioptions.ConfigFlags

	files                      []string
	live, output               string
	offline, noResize, showAll bool

	// input is what stands on standard input, once it was read.
	input []byte
	// namespace is that of manifests that name none.
	namespace string

	// reader reads live objects: of the cluster, or offline those that were saved. client is nil offline.
	reader client.Reader
	client client.Client
	scheme *runtime.Scheme
	// offersResize asks the cluster, at most once.
	offersResize func() (bool, error)
}

func newPlan(env Environment, flags *genericclioptions.ConfigFlags) *cobra.Command {
	p := &planRelease{env: env, flags: flags}
	cmd := &cobra.Command{
		Use:   "plan -f FILE",
		Short: "Show what a manifest would do to a workload, pod by pod, without doing it",
		Long: "Show what applying a manifest would do to a workload: which pods are updated in place, recreated, created or\n" +
			"deleted, in which order and why, and how many pods are available at each moment. For the kinds of Slipway the\n" +
			"controller's own planner decides, over a copy of the live objects; for those of Kubernetes a plain model of what\n" +
			"their controllers are documented to do. Nothing is written.\n\n" +
			"Of a RolloutTrait or an AppRollout it shows each batch: its goal, its pods, and what it waits for. Workloads in the same files\n" +
			"are taken as they will be then. An AppRollout is about ApplicationRevisions that are there. An Application cannot be planned as a\n" +
			"whole.\n\n" +
			"The exit status is 0 when nothing would change, 2 when something would, and 1 after an error.",
		Example: fmt.Sprintf(strings.Trim(`
  # What would this manifest do?
  %[1]s plan -f web.yaml

  # The same without a cluster, against objects that were saved before
  kubectl get clonesets,pods,controllerrevisions,persistentvolumeclaims,nodes -o yaml > live.yaml
  %[1]s plan -f web.yaml --offline --live live.yaml

  # What would the workloads of an Application become that has no rolloutPlan?
  %[1]s app render -f shop.yaml | %[1]s plan -f -

  # For programs
  %[1]s plan -f web.yaml -o json`, "\n"), env.Program),
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return p.run(cmd.Context()) },
	}
	f := cmd.Flags()
	f.StringArrayVarP(&p.files, "filename", "f", nil, "a manifest with workloads; - reads standard input; may be repeated")
	f.BoolVar(&p.offline, "offline", false, "ask no cluster: plan from the manifest, and from --live if given")
	f.StringVar(&p.live, "live", "", "with --offline: a file with the live workloads and what belongs to them: pods, controllerrevisions, replicasets, persistentvolumeclaims, nodes")
	f.BoolVar(&p.noResize, "no-resize", false, "with --offline: the cluster cannot resize living pods (it is older than Kubernetes 1.33)")
	f.StringVarP(&p.output, "output", "o", "text", "text or json")
	f.BoolVar(&p.showAll, "show-all", false, "name every pod and show every moment, also in long runs")
	return cmd
}

// run plans every set of every file, one after the other.
func (p *planRelease) run(ctx context.Context) error {
	namespace, err := p.prepare()
	if err != nil {
		return err
	}
	p.namespace = namespace
	var all []foretold
	var refused error
	for _, file := range p.files {
		manifests, err := p.read(file, namespace)
		if err != nil {
			return err
		}
		for _, m := range manifests {
			f, err := foretellers()[m.ID](ctx, p, m)
			if err != nil {
				return fmt.Errorf("%s: %s: %w", file, m, err)
			}
			if refusal := f.Refusal(); refusal != "" && refused == nil {
				refused = fmt.Errorf("%s: %s: %s", file, m, refusal)
			}
			all = append(all, f)
		}
	}
	if err := errors.Join(p.print(all), refused); err != nil {
		return err
	}
	if slices.ContainsFunc(all, foretold.ChangesAnything) {
		return ErrChanges
	}
	return nil
}

// prepare checks the flags and finds the cluster. It returns the namespace of manifests that name none.
func (p *planRelease) prepare() (namespace string, err error) {
	switch {
	case len(p.files) == 0:
		return "", errors.New("give the manifest to plan: -f FILE")
	case p.live != "" && !p.offline:
		return "", errors.New("--live goes with --offline")
	case p.noResize && !p.offline:
		return "", errors.New("--no-resize goes with --offline: a cluster is asked")
	case p.output != "text" && p.output != "json":
		return "", fmt.Errorf("-o %s is not known, only text and json", p.output)
	}
	if p.scheme, err = NewScheme(); err != nil {
		return "", err
	}
	if !p.offline {
		return p.cluster()
	}
	if p.live == "" {
		p.reader, err = saved.Read("", strings.NewReader(""), p.scheme)
	} else {
		err = p.open(p.live, func(r io.Reader) (err error) {
			p.reader, err = saved.Read(p.live, r, p.scheme)
			return err
		})
	}
	namespace = *p.flags.Namespace
	if namespace == "" {
		namespace = "default"
	}
	return namespace, err
}

func (p *planRelease) read(file, namespace string) (manifests []forecast.Manifest, err error) {
	err = p.open(file, func(r io.Reader) (err error) {
		manifests, err = forecast.ReadManifests(file, r, namespace, p.scheme, plannable(p.env.Program))
		return err
	})
	return manifests, err
}

// open reads a file, or standard input, which can be read once.
func (p *planRelease) open(file string, read func(io.Reader) error) error {
	if file == "-" {
		if p.input == nil {
			all, err := io.ReadAll(p.env.Streams.In)
			if err != nil {
				return fmt.Errorf("reading standard input: %w", err)
			}
			p.input = append([]byte{}, all...)
		}
		return read(bytes.NewReader(p.input))
	}
	f, err := os.Open(file)
	if err != nil {
		return err
	}
	defer f.Close()
	return read(f)
}

func (p *planRelease) print(all []foretold) error {
	if p.output == "json" {
		encoder := json.NewEncoder(p.env.Streams.Out)
		encoder.SetIndent("", "  ")
		return encoder.Encode(map[string]any{"kind": "Plans", "items": all})
	}
	for i := range all {
		if i > 0 {
			if _, err := fmt.Fprintln(p.env.Streams.Out); err != nil {
				return err
			}
		}
		if err := writeLines(p.env.Streams.Out, all[i].Lines(p.showAll)); err != nil {
			return err
		}
	}
	return nil
}

// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	rolloutv1alpha1 "slipway.dev/slipway/api/oam/rollout/v1alpha1"
	"slipway.dev/slipway/internal/apply"
	"slipway.dev/slipway/internal/cli/lint"
	"slipway.dev/slipway/internal/cli/rollouts"
	"slipway.dev/slipway/internal/cli/tree"
	"slipway.dev/slipway/internal/rollout/engine"
)

// rolloutCreate is one call of `rollout create`.
type rolloutCreate struct {
	*getSets
	target, source, like, dryRun   string
	targetRevision, sourceRevision string
	component                      string
	batches                        []string
	number, partition, size        int32
	strategy, policy               string
	deadline                       time.Duration
	paused, revertOnDelete         bool
	given                          func(flag string) bool
	offline                        bool
	targetWorkload, sourceWorkload *engine.Workload
	warnings                       []string
}

func newRolloutCreate(env Environment, flags *genericclioptions.ConfigFlags) *cobra.Command {
	c := &rolloutCreate{getSets: &getSets{kind: traitKind(), env: env, flags: flags, print: genericclioptions.NewPrintFlags("")}}
	cmd := &cobra.Command{
		Use:   "create NAME --target KIND/NAME|--target-revision REVISION",
		Short: "Begin a rollout",
		Long: "Write a RolloutTrait, which begins at once, and say what it will do: the goal of each batch, by the live size of the workload.\n\n" +
			"A workload that holds two versions (CloneSet, StatefulSet, DaemonSet, InPlaceSet, CafeDeployment) is taken to its newest template;\n" +
			"hold it (paused, or with its partition at full) when you give it that template. With --source, pods move from one workload to\n" +
			"another. With --target-size, and without --source, a workload is scaled.\n\n" +
			"With --target-revision it is an AppRollout: a component of an application goes from --source-revision to that revision or, without\n" +
			"one, to --target-size. It is for applications whose annotation app.oam.dev/rollout-template is \"true\"; others roll out by themselves.\n\n" +
			"--batches are goals: how many pods are done after each batch, as in 10%,50%,100% or 1,5,100%. For anything else, print the manifest\n" +
			"(--dry-run=client -o yaml) and change it.",
		Example: fmt.Sprintf(strings.Trim(`
  # From one Deployment to another, 10%% first, then wait for a person
  %[1]s rollout create web --target deployment/web-v2 --source deployment/web-v1 --batches 10%%,50%%,100%% --partition 0

  # A CloneSet to its newest template, one pod first, and back when it fails
  %[1]s rollout create web --target cloneset/web --batches 1,50%%,100%% --failure-policy Revert

  # A Deployment to 20 pods in four steps
  %[1]s rollout create grow --target deployment/web --target-size 20 --num-batches 4

  # What would it do?
  %[1]s rollout create web --target cloneset/web --num-batches 5 --dry-run=server

  # A component of an application from one revision to the next
  %[1]s rollout create shop-3 --target-revision shop-v3 --source-revision shop-v2 --component cart --batches 1,50%%,100%%

  # The same as before, under another name
  %[1]s rollout create web-2 --like web`, "\n"), env.Program),
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			c.name, c.given = args[0], cmd.Flags().Changed
			if err := c.prepare(); err != nil {
				return err
			}
			return c.refused(c.run(cmd.Context()))
		},
	}
	c.addFlags(cmd)
	return cmd
}

func (c *rolloutCreate) addFlags(cmd *cobra.Command) {
	f := cmd.Flags()
	f.StringVar(&c.target, "target", "", "the newer workload, or the only one: KIND/NAME, KIND.GROUP/NAME or GROUP/VERSION/KIND/NAME")
	f.StringVar(&c.source, "source", "", "the older workload, for kinds that hold one version: Deployment")
	f.StringVar(&c.targetRevision, "target-revision", "", "the revision of an application that is rolled out")
	f.StringVar(&c.sourceRevision, "source-revision", "", "with --target-revision: the revision that is deployed now")
	f.StringVar(&c.component, "component", "", "with --target-revision: the component, when there are several")
	f.StringVar(&c.like, "like", "", "take everything from this rollout, [KIND/]NAME, that no flag says otherwise")
	f.StringSliceVar(&c.batches, "batches", nil, "how many pods are done after each batch: numbers or percentages, the last one 100%")
	f.Int32Var(&c.number, "num-batches", 1, "divide the pods into this many batches")
	f.Int32Var(&c.partition, "partition", 0, "wait after this batch, from 0, until promote (default: do not wait)")
	f.Int32Var(&c.size, "target-size", 0, "the final number of pods")
	f.StringVar(&c.strategy, "strategy", "", "with --source: IncreaseFirst (default) or DecreaseFirst")
	f.StringVar(&c.policy, "failure-policy", "", "what a failure leads to: Fail (default), Pause or Revert")
	f.DurationVar(&c.deadline, "deadline", 10*time.Minute, "the longest time that a batch may go without progress; 0 is no deadline")
	f.BoolVar(&c.revertOnDelete, "revert-on-delete", false, "go back when the rollout is deleted before it has succeeded")
	f.BoolVar(&c.paused, "paused", false, "begin nothing until resume")
	f.StringVar(&c.dryRun, "dry-run", "none", "none; server: have the API server check everything, and write nothing; client: ask no cluster")
	f.BoolVar(&c.ascii, "ascii", false, "use ASCII characters only")
	c.print.AddFlags(cmd)
	f.Lookup("output").Usage = "print the object instead, as one of: " + strings.Join(c.print.AllowedFormats(), ", ")
}

// prepare checks that the flags fit together before the cluster is asked for anything.
func (c *rolloutCreate) prepare() error {
	switch {
	case c.dryRun != "none" && c.dryRun != "server" && c.dryRun != "client":
		return fmt.Errorf("--dry-run %q is not known, only none, server and client", c.dryRun)
	case c.target == "" && c.like == "" && c.targetRevision == "":
		return errors.New("say what is rolled out: --target KIND/NAME, or --target-revision of an application")
	case c.target+c.source != "" && c.targetRevision+c.sourceRevision+c.component != "":
		return errors.New("use either --target and --source, for workloads, or --target-revision, --source-revision and --component, for an application")
	case c.sourceRevision+c.component != "" && c.targetRevision+c.like == "":
		return errors.New("--source-revision and --component go with --target-revision")
	case len(c.batches) > 0 && c.given("num-batches"):
		return errors.New("use either --batches or --num-batches")
	case c.deadline < 0 || c.deadline%time.Second != 0:
		return fmt.Errorf("--deadline %s: use whole seconds, 0 or more", c.deadline)
	case c.like != "" && c.dryRun == "client":
		return errors.New("--like has to ask the cluster: it does not go with --dry-run=client")
	}
	if *c.print.OutputFormat != "" {
		if _, err := c.print.ToPrinter(); err != nil {
			return err
		}
	}
	c.offline = c.dryRun == "client"
	if !c.offline {
		return c.connect()
	}
	c.namespace = "default"
	if n := *c.flags.Namespace; n != "" {
		c.namespace = n
	}
	return nil
}

func (c *rolloutCreate) refused(err error) error {
	if apierrors.IsForbidden(err) {
		return fmt.Errorf("%w\n%s needs create of %s, and get of the workloads", err, c.env.Program, c.kind.resource())
	}
	if c.like != "" && apierrors.IsNotFound(err) {
		c.name = c.like
	}
	return c.explain(err)
}

func (c *rolloutCreate) run(ctx context.Context) error {
	if of, err := c.ofRevisions(ctx); err != nil {
		return err
	} else if of != nil {
		return c.runRevisions(ctx, of)
	}
	r, err := c.manifest(ctx)
	if err != nil {
		return err
	}
	if findings := lint.Rollout(r, nil); len(findings) > 0 {
		return fmt.Errorf("the API would refuse it: %s", strings.Join(texts(findings), "; "))
	}
	ahead := c.ahead(r)
	if f := ahead.Failure; f != nil {
		return fmt.Errorf("it would fail at once: %s", f.Message)
	}
	if ahead.RollingState == rolloutv1alpha1.RolloutSucceedState {
		c.warnings = append(c.warnings, "it will end at once: "+ahead.Message)
	}
	stored := r.DeepCopy()
	if err := c.store(ctx, stored); err != nil {
		return err
	}
	return c.tell(stored, rollouts.OfTrait(stored), ahead)
}

// store writes the rollout, as far as it is not a dry run.
func (c *rolloutCreate) store(ctx context.Context, r client.Object) (err error) {
	switch c.dryRun {
	case "server":
		err = apply.DryRun(ctx, c.client, r)
	case "none":
		err = apply.Make(ctx, c.client, r)
	}
	if apierrors.IsAlreadyExists(err) {
		return fmt.Errorf("%s %s is there already: `%s rollout get %s` shows it; take another name, or delete it first", c.kind.Name(), c.key(), c.env.Program, c.typed())
	}
	return err
}

func texts(findings []lint.Finding) []string {
	all := make([]string, len(findings))
	for i, f := range findings {
		all[i] = f.String()
	}
	return all
}

// manifest is the rollout that the flags ask for. It reads the workloads, whose size some of that needs.
func (c *rolloutCreate) manifest(ctx context.Context) (*rolloutv1alpha1.RolloutTrait, error) {
	r := &rolloutv1alpha1.RolloutTrait{}
	if c.like != "" {
		if err := c.client.Get(ctx, client.ObjectKey{Namespace: c.namespace, Name: c.like}, r); err != nil {
			return nil, err
		}
		r = &rolloutv1alpha1.RolloutTrait{Spec: *r.Spec.DeepCopy()}
	}
	r.TypeMeta = metav1.TypeMeta{APIVersion: rolloutv1alpha1.GroupVersion.String(), Kind: rolloutv1alpha1.RolloutTraitKind}
	r.Namespace, r.Name = c.namespace, c.name
	if err := c.workloads(&r.Spec); err != nil {
		return nil, err
	}
	c.flagsInto(&r.Spec.RolloutPlan)
	if err := c.look(ctx, r); err != nil {
		return nil, err
	}
	if len(c.batches) == 0 {
		return r, nil
	}
	total := -1
	if running := c.ahead(r).Running; running != nil && running.Mode != "" {
		total = int(running.Total)
	}
	batches, note, err := readBatches(c.batches, total)
	if note != "" {
		c.warnings = append(c.warnings, note)
	}
	r.Spec.RolloutPlan.RolloutBatches, r.Spec.RolloutPlan.NumBatches = batches, nil
	return r, err
}

func (c *rolloutCreate) workloads(spec *rolloutv1alpha1.RolloutTraitSpec) error {
	if c.target != "" {
		target, err := readRef("target", c.target)
		if err != nil {
			return err
		}
		spec.TargetRef = target
	}
	if c.source != "" {
		source, err := readRef("source", c.source)
		if err != nil {
			return err
		}
		spec.SourceRef = []rolloutv1alpha1.WorkloadReference{source}
	}
	return nil
}

func (c *rolloutCreate) flagsInto(p *rolloutv1alpha1.RolloutPlan) {
	if c.given("num-batches") {
		p.NumBatches, p.RolloutBatches = &c.number, nil
	}
	if c.given("partition") {
		p.BatchPartition = &c.partition
	}
	if c.given("target-size") {
		p.TargetSize = &c.size
	}
	if c.given("strategy") {
		p.RolloutStrategy = rolloutv1alpha1.RolloutStrategyType(c.strategy)
	}
	if c.given("failure-policy") {
		p.FailurePolicy = rolloutv1alpha1.FailurePolicy(c.policy)
	}
	if c.given("deadline") {
		p.ProgressDeadlineSeconds = ptr.To(int32(c.deadline / time.Second))
	}
	if c.given("revert-on-delete") {
		p.RevertOnDelete = c.revertOnDelete
	}
	if c.given("paused") {
		p.Paused = c.paused
	}
}

// look reads the workloads. What is not there yet, or not known here, is no error: the rollout waits, or the manager knows.
func (c *rolloutCreate) look(ctx context.Context, r *rolloutv1alpha1.RolloutTrait) error {
	if c.offline {
		return nil
	}
	one := func(ref rolloutv1alpha1.WorkloadReference) (*engine.Workload, error) {
		kind, known := knownWorkload(ref)
		if !known {
			c.warnings = append(c.warnings, fmt.Sprintf("what a %s of %s means is for the manager to know: its size is not known here", ref.Kind, ref.APIVersion))
			return nil, nil
		}
		o, err := kind.read(ctx, c.client, c.namespace, ref.Name)
		switch {
		case apierrors.IsNotFound(err):
			c.warnings = append(c.warnings, fmt.Sprintf("there is no %s in namespace %s: the rollout waits for it", rollouts.Ref(ref), c.namespace))
			return nil, nil
		case err != nil:
			return nil, fmt.Errorf("reading %s: %w", rollouts.Ref(ref), err)
		}
		if o.GetLabels()[rolloutv1alpha1.LabelHeld] == "true" {
			c.warnings = append(c.warnings, rollouts.Ref(ref)+" is held by another rollout at the moment")
		}
		w := kind.seen(o)
		if w.Differs && len(r.Spec.SourceRef) == 0 && kind.moves(o) {
			c.warnings = append(c.warnings, fmt.Sprintf(
				"nothing holds the pods of %s: they go to its newest template before the rollout takes them; pause it first, or give it a full partition", rollouts.Ref(ref)))
		}
		return &w, nil
	}
	var err error
	if c.targetWorkload, err = one(r.Spec.TargetRef); err == nil && len(r.Spec.SourceRef) > 0 {
		c.sourceWorkload, err = one(r.Spec.SourceRef[0])
	}
	return err
}

// ahead is what the engine makes of the rollout until it would begin to write: its batches, or why it cannot be. Without the
// workloads it is empty.
func (c *rolloutCreate) ahead(r *rolloutv1alpha1.RolloutTrait) rolloutv1alpha1.RolloutStatus {
	if c.targetWorkload == nil || len(r.Spec.SourceRef) > 0 && c.sourceWorkload == nil {
		return rolloutv1alpha1.RolloutStatus{}
	}
	plan := *r.Spec.RolloutPlan.DeepCopy()
	plan.Paused = false
	w := engine.World{Rollout: engine.Rollout{Namespace: r.Namespace, Name: r.Name, Generation: 1, Target: r.Spec.TargetRef, Plan: plan}, Target: *c.targetWorkload}
	if len(r.Spec.SourceRef) > 0 {
		w.Rollout.Source, w.Source = &r.Spec.SourceRef[0], c.sourceWorkload
	}
	return engine.Next(w, c.env.Clock.Now()).Status
}

func (c *rolloutCreate) tell(stored client.Object, shown *rollouts.Rollout, ahead rolloutv1alpha1.RolloutStatus) error {
	for _, w := range c.warnings {
		if _, err := fmt.Fprintln(c.env.Streams.ErrOut, "note:", w); err != nil {
			return err
		}
	}
	if *c.print.OutputFormat != "" {
		return c.printOne(stored)
	}
	done := map[string]string{"none": "created", "server": "would be created (dry run: nothing was written)", "client": "would be created (dry run: no cluster was asked)"}[c.dryRun]
	terminal := c.env.terminal(c.ascii)
	width, _ := terminal.Size()
	doc := rollouts.Preview(shown, ahead, done)
	if c.dryRun == "none" {
		doc.Foot = append(doc.Foot, []tree.Span{{Text: fmt.Sprintf("`%s rollout get %s -n %s -w` shows how it goes on", c.env.Program, c.typed(), c.namespace)}})
	}
	return writeLines(c.env.Streams.Out, tree.Render(doc, tree.Options{Width: width, ASCII: terminal.ASCII, Color: terminal.Color}))
}

// printOne prints the object as a manifest: without its empty status.
func (c *rolloutCreate) printOne(stored client.Object) error {
	printer, err := c.print.ToPrinter()
	if err != nil {
		return err
	}
	object, err := runtime.DefaultUnstructuredConverter.ToUnstructured(stored)
	if err != nil {
		return fmt.Errorf("encoding the rollout: %w", err)
	}
	delete(object, "status")
	unstructured.RemoveNestedField(object, "metadata", "creationTimestamp")
	object["apiVersion"], object["kind"] = c.kind.GroupVersionKind().ToAPIVersionAndKind()
	return printer.PrintObj(&unstructured.Unstructured{Object: object}, c.env.Streams.Out)
}

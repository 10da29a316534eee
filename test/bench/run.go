// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"slipway.dev/slipway/localcluster"
)

// settle is how long the bench leaves everything alone behind a scenario: last statuses are still on their way, and
// what one scenario left to do shall not count for the next.
const settle = 2 * time.Second

// round is what is measured on one cluster.
type round struct {
	name string // for people and file names
	room int    // how many pods the cluster must have room for
	// cells are those that the nodes are in; nil when nobody asks for any.
	cells []string
	do    func(context.Context, *bench) error
}

// bench measures one round of one run.
type bench struct {
	o          *options
	repository string
	cluster    *cluster
	namespace  string
	run        int
	round      round
	report     *report
	out        io.Writer // progress, for people
}

// runAll measures everything that the flags ask for, and shows it. The table goes to table, all else to out.
func runAll(ctx context.Context, o *options, out, table io.Writer) error {
	repository, err := localcluster.FindRoot(".")
	if err != nil {
		return err
	}
	r := &report{Flags: os.Args[1:], Machine: aboutMachine(repository, o)}
	for run := 1; run <= o.runs && err == nil; run++ {
		err = runOnce(ctx, o, run, repository, r, out)
	}
	// What was measured before an interruption or a failure is shown too.
	if len(r.Rows) > 0 {
		err = errors.Join(err, render(table, r))
	}
	if err == nil && r.failed() {
		err = errFailed
	}
	return err
}

// runOnce measures every scenario once.
func runOnce(ctx context.Context, o *options, run int, repository string, r *report, out io.Writer) error {
	for _, round := range rounds(o) {
		b := &bench{o: o, repository: repository, run: run, round: round, report: r, out: out}
		b.say("run %d of %d: %s", run, o.runs, round.name)
		err := b.inCluster(ctx)
		if o.out != "" && len(r.Rows) > 0 {
			err = errors.Join(err, r.write(o.out))
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// rounds are what has a cluster of its own: each number of pods, a manager that has nothing to do, and a crowd; or a fleet,
// many rollouts or many applications.
func rounds(o *options) []round {
	switch o.kind {
	case kindApplication:
		f := o.applicationsOf()
		return []round{{name: "applications", room: f.size * f.pods, do: func(ctx context.Context, b *bench) error { return b.applicationsRound(ctx) }}}
	case kindRollout:
		f := o.rolloutsOf()
		return []round{{name: "rollouts", room: f.size * f.pods, do: func(ctx context.Context, b *bench) error { return b.rolloutsRound(ctx) }}}
	case kindCafe:
		f := o.fleetOf()
		return []round{{name: "fleet", room: 2 * f.size * f.pods, cells: f.kind.units, do: func(ctx context.Context, b *bench) error { return b.fleetRound(ctx) }}}
	}
	var list []round
	sized := slices.ContainsFunc(scenarioNames, func(name string) bool {
		return name != scenarioRest && name != scenarioForeign && name != scenarioCrowded && o.wants(name)
	})
	for _, pods := range o.pods {
		if sized {
			// Pods on their way out still have their place when their successors come.
			list = append(list, round{name: fmt.Sprintf("%d-pods", pods), room: 2 * pods, do: func(ctx context.Context, b *bench) error { return b.sizedRound(ctx, pods) }})
		}
	}
	if o.wants(scenarioRest, scenarioForeign) {
		room := o.restSets * o.restPods
		if o.wants(scenarioForeign) {
			room += o.foreignPods
		}
		list = append(list, round{name: "quiet", room: room, do: func(ctx context.Context, b *bench) error { return b.quietRound(ctx) }})
	}
	if o.wants(scenarioCrowded) {
		pods := slices.Max(o.pods) // the most, since a crowd takes long to make
		list = append(list, round{name: "crowded", room: 2*pods + o.foreignPods, do: func(ctx context.Context, b *bench) error { return b.crowdedRound(ctx, pods) }})
	}
	return list
}

// inCluster opens the cluster, makes a namespace, measures, and takes everything away again.
func (b *bench) inCluster(ctx context.Context) (err error) {
	if b.cluster, err = openCluster(ctx, b.o, b.repository, b.round, io.Discard); err != nil {
		return err
	}
	rows := len(b.report.Rows)
	defer func() {
		if (err != nil && ctx.Err() == nil) || slices.ContainsFunc(b.report.Rows[rows:], func(r row) bool { return r.Error != "" }) {
			err = errors.Join(err, b.keepLog())
		}
		err = errors.Join(err, b.cluster.close())
	}()
	if b.cluster.audit == "" {
		b.remark("There is no audit log at hand (--audit-log), so nobody's requests are counted.")
	}
	if !b.o.foreignManager() {
		if err := installAPI(ctx, b.cluster.api, filepath.Join(b.repository, "config", "install.yaml")); err != nil {
			return err
		}
	}
	made, err := b.cluster.core.CoreV1().Namespaces().Create(ctx,
		&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "slipway-bench-"}}, metav1.CreateOptions{})
	if err != nil {
		return fmt.Errorf("making a namespace: %w", err)
	}
	b.namespace = made.Name
	defer func() { err = errors.Join(err, b.removeNamespace()) }()
	if err := b.awaitServiceAccount(ctx); err != nil {
		return err
	}
	return errors.Join(b.round.do(ctx, b), b.stopManager())
}

// removeNamespace clears a cluster that goes on; one of the bench's own just ends. It works also after an interruption.
func (b *bench) removeNamespace() error {
	if b.cluster.own {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), b.o.patience)
	defer cancel()
	namespaces := b.cluster.core.CoreV1().Namespaces()
	if err := namespaces.Delete(ctx, b.namespace, metav1.DeleteOptions{}); err != nil {
		return fmt.Errorf("removing namespace %s: %w", b.namespace, err)
	}
	// The next round shall find the cluster quiet.
	err := wait.PollUntilContextCancel(ctx, time.Second, true, func(ctx context.Context) (bool, error) {
		_, err := namespaces.Get(ctx, b.namespace, metav1.GetOptions{})
		return apierrors.IsNotFound(err), client.IgnoreNotFound(err)
	})
	if err != nil {
		return fmt.Errorf("waiting until namespace %s is gone: %w", b.namespace, err)
	}
	return nil
}

// awaitServiceAccount waits until pods can be created.
func (b *bench) awaitServiceAccount(ctx context.Context) error {
	err := wait.PollUntilContextTimeout(ctx, lookEvery, time.Minute, true, func(ctx context.Context) (bool, error) {
		_, err := b.cluster.core.CoreV1().ServiceAccounts(b.namespace).Get(ctx, "default", metav1.GetOptions{})
		return err == nil, nil // it comes soon
	})
	if err != nil {
		return fmt.Errorf("waiting for the service account of namespace %s: %w", b.namespace, err)
	}
	return nil
}

func (b *bench) say(format string, args ...any) {
	fmt.Fprintf(b.out, time.Now().Format(time.TimeOnly)+" "+format+"\n", args...)
}

// remark notes something that holds for all rows.
func (b *bench) remark(text string) {
	if !slices.Contains(b.report.Notes, text) {
		b.report.Notes = append(b.report.Notes, text)
	}
}

func aboutMachine(repository string, o *options) machine {
	m := machine{
		Began: time.Now().UTC().Format(time.RFC3339), System: runtime.GOOS + "/" + runtime.GOARCH, CPUs: runtime.NumCPU(), Go: runtime.Version(),
		Kubernetes: "of the user's", Manager: fmt.Sprintf("%s, process %d", o.userAgent, o.managerPID),
	}
	if o.kubeconfig == "" {
		if version, err := localcluster.KubernetesVersion(repository); err == nil {
			m.Kubernetes = version
		}
	}
	if o.managerProgram == noProgram {
		m.Manager = o.userAgent
	}
	if !o.foreignManager() {
		program := o.managerProgram
		if program == "" {
			program = filepath.Join(repository, "bin", "slipway-manager")
		}
		m.Manager = program
		if output, err := exec.Command(program, "--version").Output(); err == nil {
			m.Manager = strings.TrimSpace(string(output))
		}
	}
	return m
}

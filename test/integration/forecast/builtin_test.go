// SPDX-License-Identifier: Apache-2.0

package forecast_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"slipway.dev/slipway/internal/cli"
)

// tale is what plan foretells of one workload, read without its own types.
type tale struct {
	Items []struct {
		Moments []struct {
			Actions []struct{ Object, Verb, To string }
		}
		Left []string
	}
}

func foretold(t *testing.T, config string, args ...string) tale {
	t.Helper()
	var out bytes.Buffer
	root := newCLI(&out)
	root.SetArgs(append([]string{"--kubeconfig", config, "plan", "-o", "json"}, args...))
	if err := root.ExecuteContext(t.Context()); cli.ExitStatus(err) != cli.ExitChanges {
		t.Fatalf("plan %v: %v", args, err)
	}
	var told tale
	if err := json.Unmarshal(out.Bytes(), &told); err != nil {
		t.Fatalf("%v in:\n%s", err, out.String())
	}
	return told
}

// withControllers runs Kubernetes' own controllers of workloads until the test ends.
func withControllers(t *testing.T, config string) {
	t.Helper()
	ctx, stop := context.WithCancel(context.WithoutCancel(t.Context()))
	var says bytes.Buffer
	command := exec.CommandContext(ctx, filepath.Join(cluster.Binaries, "kube-controller-manager"), "--kubeconfig="+config, "--leader-elect=false",
		"--bind-address=127.0.0.1", "--secure-port=0", "--controllers=deployment-controller,replicaset-controller,statefulset-controller,daemonset-controller")
	command.Stdout, command.Stderr = &says, &says
	if err := command.Start(); err != nil {
		t.Fatalf("starting the controllers: %v", err)
	}
	t.Cleanup(func() {
		stop()
		_ = command.Wait() // it was told to stop
		if t.Failed() {
			lines := strings.Split(says.String(), "\n")
			t.Logf("the controllers said:\n%s", strings.Join(lines[max(0, len(lines)-20):], "\n"))
		}
	})
}

// stage has the pods of one workload. Nodes are played here: pods become ready when the story says so, and not before.
type stage struct {
	client.Client
	name string
}

// pods are those of the workload, each with its name or its node, and the image that it has.
func (s stage) pods(t *testing.T) []corev1.Pod {
	t.Helper()
	var list corev1.PodList
	if err := s.List(t.Context(), &list, client.InNamespace("default"), client.MatchingLabels{"app": s.name}); err != nil {
		t.Fatal(err)
	}
	return list.Items
}

// shows counts pods by image, and names those of kinds that name them beforehand.
func (s stage) shows(t *testing.T) string {
	t.Helper()
	images, names := map[string]int{}, []string{}
	for _, p := range s.pods(t) {
		images[p.Spec.Containers[0].Image]++
		if owner := metav1.GetControllerOf(&p); owner != nil && owner.Kind == "StatefulSet" {
			names = append(names, p.Name+"="+p.Spec.Containers[0].Image)
		}
	}
	slices.Sort(names)
	return fmt.Sprint(images, names)
}

func (s stage) ready(t *testing.T) {
	t.Helper()
	for _, p := range s.pods(t) {
		if p.Status.Phase == corev1.PodRunning {
			continue
		}
		p.Status.Phase = corev1.PodRunning
		p.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue, LastTransitionTime: metav1.Now()}}
		if err := s.Status().Update(t.Context(), &p); err != nil {
			t.Fatal(err)
		}
	}
}

// reaches waits until the pods are as they are to be.
func (s stage) reaches(t *testing.T, want, when string) {
	t.Helper()
	err := wait.PollUntilContextTimeout(t.Context(), 20*time.Millisecond, time.Minute, true, func(context.Context) (bool, error) { return s.shows(t) == want, nil })
	if err != nil {
		t.Fatalf("%s: pods are %s, and are foretold to be %s", when, s.shows(t), want)
	}
}

// follow has the real controllers carry a change out, and goes through its story with them: after each moment's actions the
// pods are those that it tells of, and then all become ready. Before is what there is at the beginning.
func (s stage) follow(t *testing.T, told tale, before map[string]string) {
	t.Helper()
	there := before
	show := func() string {
		images, names := map[string]int{}, []string{}
		for name, image := range there {
			images[image]++
			if strings.HasPrefix(name, s.name+"-") && len(name) == len(s.name)+2 {
				names = append(names, name+"="+image)
			}
		}
		slices.Sort(names)
		return fmt.Sprint(images, names)
	}
	for i, m := range told.Items[0].Moments {
		creates := i == len(told.Items[0].Moments)-1
		for _, a := range m.Actions {
			creates = creates || a.Verb == "create"
			switch {
			case a.Verb != "create":
				delete(there, a.Object)
			case a.To == "": // of a revision that has no name yet
				there[a.Object] = "app:v2"
			default:
				there[a.Object] = "app:v1"
			}
		}
		if creates { // else the controller goes on at once, and nobody sees it
			s.reaches(t, show(), fmt.Sprintf("after moment %d of %d", i+1, len(told.Items[0].Moments)))
			s.ready(t)
		}
	}
	s.reaches(t, show(), "in the end")
}

// TestTheModelDoesWhatKubernetesDoes has Kubernetes' own controllers carry changes out, moment by moment.
func TestTheModelDoesWhatKubernetesDoes(t *testing.T) {
	config := kubeconfig(t, cluster.Config)
	withControllers(t, config)
	c, err := cli.NewClient(cluster.Config)
	if err != nil {
		t.Fatal(err)
	}
	for i := range 3 {
		node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("node-%d", i)}}
		if err := c.Create(t.Context(), node); err != nil {
			t.Fatal(err)
		}
		node.Spec.Taints = nil // the API server marks new nodes as not ready, and no kubelet takes that off
		if err := c.Update(t.Context(), node); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			if err := c.Delete(context.WithoutCancel(t.Context()), node); err != nil {
				t.Error(err)
			}
		})
	}
	for name, w := range map[string]struct {
		kind, spec, next string
		pods             int
	}{
		"rolling":   {"Deployment", "replicas: 4", "replicas: 4", 4},
		"unlucky":   {"Deployment", "replicas: 5, strategy: {rollingUpdate: {maxSurge: 0, maxUnavailable: 2}}", "replicas: 5, strategy: {rollingUpdate: {maxSurge: 0, maxUnavailable: 2}}", 5},
		"surging":   {"Deployment", "replicas: 3, strategy: {rollingUpdate: {maxSurge: 2, maxUnavailable: 0}}", "replicas: 3, strategy: {rollingUpdate: {maxSurge: 2, maxUnavailable: 0}}", 3},
		"anew":      {"Deployment", "replicas: 3, strategy: {type: Recreate}", "replicas: 3, strategy: {type: Recreate}", 3},
		"grown":     {"Deployment", "replicas: 2", "replicas: 4", 2},
		"shrunk":    {"Deployment", "replicas: 5", "replicas: 2", 5},
		"ordered":   {"StatefulSet", "replicas: 3", "replicas: 3", 3},
		"parallel":  {"StatefulSet", "replicas: 2, podManagementPolicy: Parallel", "replicas: 4, podManagementPolicy: Parallel", 2},
		"kept":      {"StatefulSet", "replicas: 3", "replicas: 4, updateStrategy: {rollingUpdate: {partition: 2}}", 3},
		"fewer":     {"StatefulSet", "replicas: 4", "replicas: 2", 4},
		"nodes":     {"DaemonSet", "minReadySeconds: 0", "minReadySeconds: 0", 3},
		"two-nodes": {"DaemonSet", "minReadySeconds: 0", "updateStrategy: {rollingUpdate: {maxUnavailable: 2}}", 3},
		"beside":    {"DaemonSet", "minReadySeconds: 0", "updateStrategy: {rollingUpdate: {maxUnavailable: 0, maxSurge: 1}}", 3},
	} {
		t.Run(w.kind+" "+name, func(t *testing.T) {
			text := func(spec, image string) string {
				return fmt.Sprintf("apiVersion: apps/v1\nkind: %s\nmetadata: {name: %s, namespace: default}\nspec: {%s, selector: {matchLabels: {app: %s}}, "+
					"template: {metadata: {labels: {app: %s}}, spec: {containers: [{name: app, image: %q}]}}}\n", w.kind, name, spec, name, name, image)
			}
			s := stage{c, name}
			first := stored(t, text(w.spec, "app:v1"))
			kubectl(t, config, "apply", "-f", first)
			t.Cleanup(func() {
				command := exec.CommandContext(context.WithoutCancel(t.Context()), filepath.Join(cluster.Binaries, "kubectl"), "--kubeconfig", config, "delete", "--ignore-not-found", "--wait=false", "-f", first)
				if out, err := command.CombinedOutput(); err != nil {
					t.Errorf("deleting it: %v\n%s", err, out)
				}
			})
			s.begins(t, w.pods)
			before := map[string]string{}
			for _, p := range s.pods(t) {
				before[p.Name] = "app:v1"
			}
			next := stored(t, text(w.next, "app:v2"))
			told := foretold(t, config, "-f", next)
			kubectl(t, config, "apply", "-f", next)
			s.follow(t, told, before)
		})
	}
}

// begins brings a workload to its first rest: all pods are there and ready, and its controller has seen that.
func (s stage) begins(t *testing.T, pods int) {
	t.Helper()
	err := wait.PollUntilContextTimeout(t.Context(), 20*time.Millisecond, time.Minute, true, func(context.Context) (bool, error) {
		s.ready(t)
		running := slices.DeleteFunc(s.pods(t), func(p corev1.Pod) bool { return p.Status.Phase != corev1.PodRunning })
		return len(running) == pods, nil
	})
	if err != nil {
		t.Fatalf("%d pods are there, and are to be %d", len(s.pods(t)), pods)
	}
}

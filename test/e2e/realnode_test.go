// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	kruisev1alpha1 "slipway.dev/slipway/api/kruise/v1alpha1"
	kruisev1beta1 "slipway.dev/slipway/api/kruise/v1beta1"
	"slipway.dev/slipway/localcluster"
	"slipway.dev/slipway/localcluster/images/whoami"
	"slipway.dev/slipway/localcluster/realnode"
	"slipway.dev/slipway/test/builders"
)

// The containers of every pod on the real node, and the ports that their servers listen on. dataPath is where a volume
// is that a test may replace: it has the name of its last part.
const (
	appContainer     = builders.Container
	sidecarContainer = "sidecar"
	dataPath         = "/data"
)

var ports = map[string]int{appContainer: 8080, sidecarContainer: 8081}

// realPatience is for what real containers do in a few seconds on a machine that is not loaded.
const realPatience = 3 * time.Minute

// askFor is how long a server may take to answer.
const askFor = 10 * time.Second

// describeReal holds specs whose pods really run. They are skipped, and say why, where there can be no real node.
func describeReal(text string, body func()) bool {
	return Describe("On a real node, "+text, Label("real node"), func() {
		BeforeEach(func() {
			has, err := localcluster.HasRealNode(cluster.root)
			Expect(err).NotTo(HaveOccurred())
			if !has {
				Skip("this machine can have no real node: " + strings.Join(realnode.Missing(), "; "))
			}
		})
		body()
	})
}

// realKind is a kind of workload, as far as specs on the real node do not mind which.
type realKind struct {
	name string
	// build makes a set that is updated in place where that is possible, one pod at a time.
	build func(name string, replicas int32, template corev1.PodTemplateSpec) client.Object
}

var (
	realCloneSet = realKind{
		name: kruisev1alpha1.CloneSetKind,
		build: func(name string, replicas int32, template corev1.PodTemplateSpec) client.Object {
			return builders.CloneSet(name).Replicas(replicas).InPlace().MaxUnavailable("1").
				With(func(set *kruisev1alpha1.CloneSet) { set.Spec.Template = template }).Build()
		},
	}
	realStatefulSet = realKind{
		name: kruisev1beta1.StatefulSetKind,
		build: func(name string, replicas int32, template corev1.PodTemplateSpec) client.Object {
			return builders.StatefulSet(name).Replicas(replicas).InPlace().
				With(func(set *kruisev1beta1.StatefulSet) { set.Spec.Template = template }).Build()
		},
	}
)

// ofEveryKind makes one spec for each kind of workload.
func ofEveryKind(text string, body func(kind realKind)) {
	for _, kind := range []realKind{realCloneSet, realStatefulSet} {
		It(fmt.Sprintf("%s (%s)", text, kind.name), func() { body(kind) })
	}
}

// realTemplate is a pod template for the real node: app and sidecar at version v1, each ready when its server says so,
// and an emptyDir at dataPath in both. It has the readiness gate that updates in place need. Change it as you like.
func realTemplate(name string) corev1.PodTemplateSpec {
	container := func(name, repository string) corev1.Container {
		return corev1.Container{
			Name: name, Image: repository + ":v1", ImagePullPolicy: corev1.PullNever,
			Env: []corev1.EnvVar{{Name: "PORT", Value: strconv.Itoa(ports[name])}},
			ReadinessProbe: &corev1.Probe{
				ProbeHandler:  corev1.ProbeHandler{HTTPGet: &corev1.HTTPGetAction{Path: "/ready", Port: intstr.FromInt(ports[name])}},
				PeriodSeconds: 1, FailureThreshold: 1, TimeoutSeconds: 5,
			},
			VolumeMounts: []corev1.VolumeMount{{Name: dataPath[1:], MountPath: dataPath}},
		}
	}
	return corev1.PodTemplateSpec{
		ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"app": name}},
		Spec: corev1.PodSpec{
			NodeSelector:                  map[string]string{realnode.Label: "true"},
			Tolerations:                   []corev1.Toleration{{Key: realnode.Taint, Operator: corev1.TolerationOpExists}},
			TerminationGracePeriodSeconds: ptr.To[int64](5),
			ReadinessGates:                []corev1.PodReadinessGate{{ConditionType: kruisev1alpha1.ConditionInPlaceUpdateReady}},
			Containers:                    []corev1.Container{container(appContainer, "registry.test/app"), container(sidecarContainer, "registry.test/sidecar")},
			Volumes:                       []corev1.Volume{{Name: dataPath[1:]}},
		},
	}
}

// createReal creates the object in the namespace of the spec.
func createReal[T client.Object](object T) T {
	GinkgoHelper()
	object.SetNamespace(namespace)
	object.SetUID("")
	object.SetGeneration(0)
	object.SetCreationTimestamp(metav1.Time{})
	Expect(cluster.Create(testCtx, object)).To(Succeed())
	return object
}

// settleReal waits until the set's status says that the spec is reached, and returns the set as it is then.
func settleReal[T client.Object](set T) T {
	GinkgoHelper()
	return settleWithin(realPatience, set)
}

// containerOf is the status of one of the pod's containers.
func containerOf(pod *corev1.Pod, name string) corev1.ContainerStatus {
	GinkgoHelper()
	for _, status := range pod.Status.ContainerStatuses {
		if status.Name == name {
			return status
		}
	}
	Fail(fmt.Sprintf("pod %s has no status of container %s", pod.Name, name))
	return corev1.ContainerStatus{}
}

// whoIs asks the server of a container who it is: what really runs there, whatever the API server says.
func whoIs(pod *corev1.Pod, container string) whoami.Answer {
	GinkgoHelper()
	var answer whoami.Answer
	Expect(json.Unmarshal(ask(pod, container, http.MethodGet, "/", nil), &answer)).To(Succeed())
	return answer
}

// tell asks the server of a container for trouble, such as "/ready?is=no"; see package localcluster/images/server.
func tell(pod *corev1.Pod, container, path string) {
	GinkgoHelper()
	ask(pod, container, http.MethodPost, path, nil)
}

// writeFile and readFile work on files as the container's process does.
func writeFile(pod *corev1.Pod, container, path, content string) {
	GinkgoHelper()
	ask(pod, container, http.MethodPut, "/file?path="+url.QueryEscape(path), []byte(content))
}

func readFile(pod *corev1.Pod, container, path string) string {
	GinkgoHelper()
	return string(ask(pod, container, http.MethodGet, "/file?path="+url.QueryEscape(path), nil))
}

// ask sends one request to the pod's address, on a connection of its own, and expects success.
func ask(pod *corev1.Pod, container, method, path string, body []byte) []byte {
	GinkgoHelper()
	ctx, cancel := context.WithTimeout(testCtx, askFor)
	defer cancel()
	address := net.JoinHostPort(pod.Status.PodIP, strconv.Itoa(ports[container]))
	request, err := http.NewRequestWithContext(ctx, method, "http://"+address+path, bytes.NewReader(body))
	Expect(err).NotTo(HaveOccurred())
	request.Close = true
	response, err := http.DefaultClient.Do(request)
	Expect(err).NotTo(HaveOccurred(), "asking container %s of pod %s", container, pod.Name)
	defer response.Body.Close()
	content, err := io.ReadAll(response.Body)
	Expect(err).NotTo(HaveOccurred())
	Expect(response.StatusCode).To(Equal(http.StatusOK), "%s %s: %s", method, path, content)
	return content
}

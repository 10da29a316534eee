// SPDX-License-Identifier: Apache-2.0

package audit

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	auditv1 "k8s.io/apiserver/pkg/apis/audit/v1"
)

// Write is one finished write request for pods, also a refused one.
type Write struct {
	// At is when the API server had answered.
	At time.Time
	// UserAgent as the client sent it.
	UserAgent string
	// User is the authenticated name.
	User string
	// Verb is create, update, patch, delete or deletecollection.
	Verb string
	// Subresource is empty, status, binding, resize, eviction and so on.
	Subresource string
	Namespace   string
	// Name is the pod's name. Empty for deletecollection.
	Name string
	// Code is the HTTP status of the answer.
	Code int32
	// Pods are the pods as the answer showed them: one for most verbs, several for
	// deletecollection, none when the answer held no pod (an error, a binding).
	Pods []corev1.Pod
}

// Accepted says whether the API server did what was asked.
func (w Write) Accepted() bool { return w.Code >= 200 && w.Code < 300 }

// InOrder are the accepted writes that show one pod, in the order in which the API server did them. A log is in the order in
// which it had answered, which is another one when it is busy.
func InOrder(writes []Write) []Write {
	shown := slices.DeleteFunc(slices.Clone(writes), func(w Write) bool { return !w.Accepted() || len(w.Pods) != 1 })
	slices.SortStableFunc(shown, func(a, b Write) int { return cmp.Compare(version(&a.Pods[0]), version(&b.Pods[0])) })
	return shown
}

// ReadFile reads the writes of pods from an audit log, starting at offset in bytes.
// It returns the offset to go on from, so that a log that is still written can be read in parts:
// a last line without its end is left for the next call.
func ReadFile(path string, offset int64) ([]Write, int64, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, offset, fmt.Errorf("opening the audit log: %w", err)
	}
	defer file.Close()
	if _, err := file.Seek(offset, io.SeekStart); err != nil {
		return nil, offset, fmt.Errorf("going to byte %d of the audit log: %w", offset, err)
	}
	writes, read, err := Read(file)
	return writes, offset + read, err
}

// Read reads the writes of pods from audit lines, and says how many bytes it used.
// Other events are passed over. A line that is not an audit event is an error that names the line.
func Read(r io.Reader) ([]Write, int64, error) {
	var writes []Write
	used, err := eachLine(r, func(line []byte) error {
		write, ok, err := parse(line)
		if ok {
			writes = append(writes, write)
		}
		return err
	})
	return writes, used, err
}

// eachLine calls do for each whole line, and says how many bytes these were.
func eachLine(r io.Reader, do func([]byte) error) (int64, error) {
	var used int64
	in := bufio.NewReaderSize(r, 1<<20)
	for number := 1; ; number++ {
		line, err := in.ReadBytes('\n')
		if errors.Is(err, io.EOF) {
			return used, nil // what is left of line was not finished by the writer
		}
		if err != nil {
			return used, fmt.Errorf("reading the audit log: %w", err)
		}
		used += int64(len(line))
		if err := do(line); err != nil {
			return used, fmt.Errorf("audit line %d: %w", number, err)
		}
	}
}

func parse(line []byte) (Write, bool, error) {
	// Most lines of a busy log are not about pods; decoding them all would dominate.
	if len(bytes.TrimSpace(line)) == 0 || !bytes.Contains(line, []byte(`"resource":"pods"`)) {
		return Write{}, false, nil
	}
	var event auditv1.Event
	if err := json.Unmarshal(line, &event); err != nil {
		return Write{}, false, fmt.Errorf("decoding: %w", err)
	}
	ref := event.ObjectRef
	if event.Stage != auditv1.StageResponseComplete || ref == nil || ref.Resource != "pods" || ref.APIGroup != "" || !writes(event.Verb) ||
		strings.Contains(event.RequestURI, "dryRun=All") {
		return Write{}, false, nil
	}
	write := Write{
		At: event.StageTimestamp.Time, UserAgent: event.UserAgent, User: event.User.Username, Verb: event.Verb,
		Subresource: ref.Subresource, Namespace: ref.Namespace, Name: ref.Name,
	}
	if event.ResponseStatus != nil {
		write.Code = event.ResponseStatus.Code
	}
	if event.ResponseObject == nil {
		return write, true, nil
	}
	pods, err := podsIn(event.ResponseObject.Raw)
	if err != nil {
		return Write{}, false, err
	}
	write.Pods = pods
	if write.Name == "" && len(pods) == 1 && event.Verb == "create" {
		write.Name = pods[0].Name // the server chose it from generateName
	}
	return write, true, nil
}

func writes(verb string) bool {
	switch verb {
	case "create", "update", "patch", "delete", "deletecollection":
		return true
	default:
		return false
	}
}

func podsIn(raw []byte) ([]corev1.Pod, error) {
	var kind metav1.TypeMeta
	if err := json.Unmarshal(raw, &kind); err != nil {
		return nil, fmt.Errorf("decoding the kind of the answer: %w", err)
	}
	switch kind.Kind {
	case "Pod":
		var pod corev1.Pod
		if err := json.Unmarshal(raw, &pod); err != nil {
			return nil, fmt.Errorf("decoding the pod of the answer: %w", err)
		}
		return []corev1.Pod{pod}, nil
	case "PodList":
		var list corev1.PodList
		if err := json.Unmarshal(raw, &list); err != nil {
			return nil, fmt.Errorf("decoding the pods of the answer: %w", err)
		}
		return list.Items, nil
	default:
		return nil, nil
	}
}

// version is the place of a state in the order of all states; 0 when it is not known.
func version(pod *corev1.Pod) uint64 {
	n, err := strconv.ParseUint(pod.ResourceVersion, 10, 64)
	if err != nil {
		return 0
	}
	return n
}

// SPDX-License-Identifier: Apache-2.0

package proxy

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strconv"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// refuse answers in the place of the server, as a server answers that is busy, broken or was asked too late.
func (p *Proxy) refuse(w http.ResponseWriter, r *http.Request) {
	codes := []int{http.StatusTooManyRequests, http.StatusInternalServerError}
	if writes(r) {
		codes = append(codes, http.StatusConflict)
	}
	p.mu.Lock()
	code := codes[p.random.IntN(len(codes))]
	p.mu.Unlock()
	body := status(code)
	w.Header().Set("Content-Type", "application/json")
	if code == http.StatusTooManyRequests {
		w.Header().Set("Retry-After", "1")
	}
	w.WriteHeader(code)
	_, _ = w.Write(body) // a client that has gone needs no answer
}

// lose puts an error in the place of the server's answer.
func lose(response *http.Response) error {
	if _, err := io.Copy(io.Discard, response.Body); err != nil {
		return fmt.Errorf("reading the answer that is to be lost: %w", err)
	}
	if err := response.Body.Close(); err != nil {
		return fmt.Errorf("reading the answer that is to be lost: %w", err)
	}
	body := status(http.StatusInternalServerError)
	response.StatusCode, response.Status = http.StatusInternalServerError, ""
	response.Header = http.Header{"Content-Type": {"application/json"}, "Content-Length": {strconv.Itoa(len(body))}}
	response.ContentLength, response.Body = int64(len(body)), io.NopCloser(bytes.NewReader(body))
	return nil
}

func status(code int) []byte {
	answer := metav1.Status{
		TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Status"}, Status: metav1.StatusFailure, Code: int32(code),
		Message: "the proxy of the fault campaign says so",
	}
	switch code {
	case http.StatusTooManyRequests:
		answer.Reason, answer.Details = metav1.StatusReasonTooManyRequests, &metav1.StatusDetails{RetryAfterSeconds: 1}
	case http.StatusConflict:
		answer.Reason = metav1.StatusReasonConflict
	default:
		answer.Reason = metav1.StatusReasonInternalError
	}
	body, err := json.Marshal(answer)
	if err != nil {
		panic(err) // a constant of our own
	}
	return body
}

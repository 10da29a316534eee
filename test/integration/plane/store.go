// SPDX-License-Identifier: Apache-2.0

package plane

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"path"
)

// Store reaches the etcd of a plane. It makes objects that the API server would refuse today: ones that are older than a
// rule or a default.
type Store struct {
	// URL of etcd, on loopback and without credentials.
	URL string
}

// Rewrite changes a custom resource as it is stored, without defaults, validation or a new generation. The API server
// sees it as a write by another API server. When the change gives it another name, the object stays, and a copy of that
// name is stored. A failure names the object.
func (s Store) Rewrite(ctx context.Context, resource, namespace, name string, change func(object map[string]any)) error {
	key := []byte(path.Join("/registry", resource, namespace, name))
	var found struct {
		Pairs []struct{ Value []byte } `json:"kvs"`
	}
	if err := s.call(ctx, "/v3/kv/range", map[string]any{"key": key}, &found); err != nil {
		return fmt.Errorf("reading %s: %w", key, err)
	}
	if len(found.Pairs) != 1 {
		return fmt.Errorf("reading %s: it is not in etcd", key)
	}
	var object map[string]any
	if err := json.Unmarshal(found.Pairs[0].Value, &object); err != nil {
		return fmt.Errorf("reading %s: %w", key, err)
	}
	change(object)
	if metadata, ok := object["metadata"].(map[string]any); ok {
		if changed, ok := metadata["name"].(string); ok {
			key = []byte(path.Join("/registry", resource, namespace, changed))
		}
	}
	value, err := json.Marshal(object)
	if err != nil {
		return fmt.Errorf("writing %s: %w", key, err)
	}
	if err := s.call(ctx, "/v3/kv/put", map[string]any{"key": key, "value": value}, &struct{}{}); err != nil {
		return fmt.Errorf("writing %s: %w", key, err)
	}
	return nil
}

// call uses etcd's JSON gateway, which spares the tests a client of its own: bytes travel as base64, as encoding/json has it.
func (s Store) call(ctx context.Context, method string, request, response any) (err error) {
	body, err := json.Marshal(request)
	if err != nil {
		return fmt.Errorf("encoding the request: %w", err)
	}
	call, err := http.NewRequestWithContext(ctx, http.MethodPost, s.URL+method, bytes.NewReader(body))
	if err != nil {
		return fmt.Errorf("making the request: %w", err)
	}
	answer, err := http.DefaultClient.Do(call)
	if err != nil {
		return fmt.Errorf("asking etcd: %w", err)
	}
	defer func() { err = errors.Join(err, answer.Body.Close()) }()
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		return fmt.Errorf("reading etcd's answer: %w", err)
	}
	if answer.StatusCode != http.StatusOK {
		return fmt.Errorf("etcd answered %s: %s", answer.Status, text)
	}
	if err := json.Unmarshal(text, response); err != nil {
		return fmt.Errorf("reading etcd's answer: %w", err)
	}
	return nil
}

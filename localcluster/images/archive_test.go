// SPDX-License-Identifier: Apache-2.0

package images

import (
	"archive/tar"
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"testing"

	v1 "github.com/google/go-containerregistry/pkg/v1"
)

func programs(t *testing.T) string {
	t.Helper()
	folder := t.TempDir()
	for _, name := range []string{pauseProgram, serverProgram} {
		if err := os.WriteFile(filepath.Join(folder, name), []byte("the program "+name), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	return folder
}

// manifests reads the archive as containerd does: by the names in its index.
func manifests(t *testing.T, archive []byte) map[string]v1.Descriptor {
	t.Helper()
	reader := tar.NewReader(bytes.NewReader(archive))
	for {
		header, err := reader.Next()
		if err != nil {
			t.Fatalf("looking for index.json: %v", err)
		}
		if header.Name != "index.json" {
			continue
		}
		content, err := io.ReadAll(reader)
		if err != nil {
			t.Fatal(err)
		}
		var index v1.IndexManifest
		if err := json.Unmarshal(content, &index); err != nil {
			t.Fatal(err)
		}
		all := map[string]v1.Descriptor{}
		for _, manifest := range index.Manifests {
			all[manifest.Annotations[annotationName]] = manifest
		}
		return all
	}
}

func TestTheArchiveHoldsEveryImageUnderItsName(t *testing.T) {
	var archive bytes.Buffer
	if err := WriteArchive(&archive, programs(t)); err != nil {
		t.Fatal(err)
	}
	all := manifests(t, archive.Bytes())
	if len(all) != len(Names()) {
		t.Errorf("got %d images, want %d", len(all), len(Names()))
	}
	for _, name := range Names() {
		if _, there := all[name]; !there {
			t.Errorf("%s is missing", name)
		}
	}
}

func TestOnlyTheTagThatIsAnothersCopyHasItsDigest(t *testing.T) {
	var archive bytes.Buffer
	if err := WriteArchive(&archive, programs(t)); err != nil {
		t.Fatal(err)
	}
	all := manifests(t, archive.Bytes())
	for _, repository := range Repositories {
		if all[repository+":v1"].Digest != all[repository+":v1-again"].Digest {
			t.Errorf("%s: v1 and v1-again differ", repository)
		}
	}
	byDigest := map[v1.Hash][]string{}
	for name, manifest := range all {
		byDigest[manifest.Digest] = append(byDigest[manifest.Digest], name)
	}
	if want := len(all) - len(Repositories); len(byDigest) != want {
		t.Errorf("got %d digests, want %d: %v", len(byDigest), want, byDigest)
	}
}

func TestTheSameProgramsGiveTheSameBytes(t *testing.T) {
	var first, second bytes.Buffer
	folder := programs(t)
	if err := errors.Join(WriteArchive(&first, folder), WriteArchive(&second, folder)); err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(first.Bytes(), second.Bytes()) {
		t.Error("two archives of the same programs differ")
	}
}

func TestAMissingProgramIsNamed(t *testing.T) {
	err := WriteArchive(io.Discard, t.TempDir())
	if !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("got %v, want an error that names the file that is not there", err)
	}
}

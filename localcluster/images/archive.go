// SPDX-License-Identifier: Apache-2.0

package images

import (
	"archive/tar"
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/static"
	"github.com/google/go-containerregistry/pkg/v1/types"
)

// The programs that the images hold, by the names of their files.
const (
	pauseProgram  = "pause"
	serverProgram = "server"
)

// annotationName is where containerd looks for the name of an image in an archive.
const annotationName = "io.containerd.image.name"

// nobody is who the containers run as: a pod can then ask for the restricted security profile.
const nobody = "65534:65534"

// Names are those of all images in the archive.
func Names() []string {
	names := []string{Pause}
	for _, repository := range Repositories {
		for _, t := range tags {
			names = append(names, repository+":"+t.name)
		}
	}
	return names
}

// WriteArchive writes all images as one OCI archive. The programs pause and server are taken from the folder, and have
// to be static, for the images hold nothing else. The same programs give the same bytes.
func WriteArchive(to io.Writer, programs string) (err error) {
	folder, err := os.MkdirTemp("", "slipway-images-")
	if err != nil {
		return fmt.Errorf("making a folder for the images: %w", err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(folder)) }()
	if err := writeLayout(folder, programs); err != nil {
		return err
	}
	archive := tar.NewWriter(to)
	if err := archive.AddFS(os.DirFS(folder)); err != nil {
		return fmt.Errorf("writing the archive: %w", err)
	}
	if err := archive.Close(); err != nil {
		return fmt.Errorf("ending the archive: %w", err)
	}
	return nil
}

func writeLayout(folder, programs string) error {
	index, err := layout.Write(folder, mutate.IndexMediaType(empty.Index, types.OCIImageIndex))
	if err != nil {
		return fmt.Errorf("starting the archive: %w", err)
	}
	add := func(name string, image v1.Image) error {
		if err := index.AppendImage(image, layout.WithAnnotations(map[string]string{annotationName: name})); err != nil {
			return fmt.Errorf("adding %s: %w", name, err)
		}
		return nil
	}
	pause, err := base(programs, pauseProgram)
	if err != nil {
		return err
	}
	if err := add(Pause, pause); err != nil {
		return err
	}
	server, err := base(programs, serverProgram)
	if err != nil {
		return err
	}
	for _, repository := range Repositories {
		for _, t := range tags {
			image, err := tagged(server, repository, t)
			if err != nil {
				return fmt.Errorf("making %s:%s: %w", repository, t.name, err)
			}
			if err := add(repository+":"+t.name, image); err != nil {
				return err
			}
		}
	}
	return nil
}

// base is an image with one program, which it starts.
func base(programs, name string) (v1.Image, error) {
	program, err := os.ReadFile(filepath.Join(programs, name))
	if err != nil {
		return nil, fmt.Errorf("reading a program of the images (make build makes them): %w", err)
	}
	var content bytes.Buffer
	files := tar.NewWriter(&content)
	header := &tar.Header{Typeflag: tar.TypeReg, Name: name, Mode: 0o755, Size: int64(len(program))}
	if err := errors.Join(files.WriteHeader(header), write(files, program), files.Close()); err != nil {
		return nil, fmt.Errorf("packing %s: %w", name, err)
	}
	image := mutate.ConfigMediaType(mutate.MediaType(empty.Image, types.OCIManifestSchema1), types.OCIConfigJSON)
	if image, err = mutate.AppendLayers(image, static.NewLayer(content.Bytes(), types.OCIUncompressedLayer)); err != nil {
		return nil, fmt.Errorf("making an image of %s: %w", name, err)
	}
	file, err := image.ConfigFile()
	if err != nil {
		return nil, fmt.Errorf("making an image of %s: %w", name, err)
	}
	file = file.DeepCopy()
	file.OS, file.Architecture = "linux", runtime.GOARCH
	file.Config = v1.Config{Entrypoint: []string{"/" + name}, User: nobody}
	if image, err = mutate.ConfigFile(image, file); err != nil {
		return nil, fmt.Errorf("making an image of %s: %w", name, err)
	}
	return image, nil
}

func write(to io.Writer, content []byte) error {
	_, err := to.Write(content)
	return err
}

func tagged(server v1.Image, repository string, t tag) (v1.Image, error) {
	if t.as != "" {
		t = tag{name: t.as}
	}
	file, err := server.ConfigFile()
	if err != nil {
		return nil, fmt.Errorf("reading the server's image: %w", err)
	}
	config := *file.Config.DeepCopy()
	config.Env = append([]string{"VERSION=" + t.name, "IMAGE=" + repository + ":" + t.name}, t.env...)
	return mutate.Config(server, config)
}

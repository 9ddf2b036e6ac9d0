// Command generate writes the OpenAPI document of the native API: it lets swag read the annotations above the
// handlers, and then mends what swag cannot say.
package main

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"

	"github.com/swaggo/swag/v2"
	"github.com/swaggo/swag/v2/gen"
)

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "generate the OpenAPI document:", err)
		os.Exit(1)
	}
}

func run() error {
	api := flag.String("api", "../../handlers", "the folder of the handlers")
	out := flag.String("out", "../openapi.json", "the document to write")
	flag.Parse()
	raw, err := annotations(*api)
	if err != nil {
		return err
	}
	mended, err := mend(raw)
	if err != nil {
		return err
	}
	return os.WriteFile(*out, mended, 0o644) //nolint:gosec // everybody may read the document
}

// annotations is the document as swag writes it.
func annotations(api string) ([]byte, error) {
	dir, err := os.MkdirTemp("", "openapi")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir) //nolint:errcheck // a folder for temporary files
	err = gen.New().Build(&gen.Config{
		Debugger:            silence{},
		SearchDir:           api + "/rest," + api + "/problem",
		MainAPIFile:         "document.go",
		PropNamingStrategy:  swag.SnakeCase,
		OutputDir:           dir,
		OutputTypes:         []string{"json"},
		ParseDepth:          1,
		GenerateOpenAPI3Doc: true,
		Strict:              true,
	})
	if err != nil {
		return nil, fmt.Errorf("read the annotations in %s: %w", api, err)
	}
	return os.ReadFile(filepath.Join(dir, "swagger.json"))
}

// silence is where swag may tell what it does.
type silence struct{}

// Printf implements [swag.Debugger].
func (silence) Printf(string, ...any) {}

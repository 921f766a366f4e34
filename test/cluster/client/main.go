// Command client is a controller in Go, like most controllers: it reads, watches and writes an object of every kind with
// controller-runtime's client and caches. It also prints the protobuf messages that such clients send.
//
//	client fields GROUP/VERSION/KIND…             prints the fields of these kinds' messages
//	client play KUBECONFIG OBJECTS FORM           creates, changes and deletes the objects in a YAML file, and
//	                                              prints the results as JSON; FORM is typed (protobuf) or unstructured (JSON)
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"
)

const limit = 3 * time.Minute

func main() {
	log.SetLogger(zap.New(zap.UseDevMode(true)))
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(argv []string) error {
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{clientgoscheme.AddToScheme, apiextensionsv1.AddToScheme} {
		if err := add(scheme); err != nil {
			return err
		}
	}
	switch {
	case len(argv) > 1 && argv[0] == "fields":
		return printFields(scheme, argv[1:])
	case len(argv) == 4 && argv[0] == "play":
		ctx, cancel := context.WithTimeout(context.Background(), limit)
		defer cancel()
		report, err := play(ctx, scheme, argv[1], argv[2], argv[3] == "typed")
		if err != nil {
			return err
		}
		return json.NewEncoder(os.Stdout).Encode(report)
	default:
		return fmt.Errorf("usage: client fields GROUP/VERSION/KIND… | client play KUBECONFIG OBJECTS typed|unstructured")
	}
}

func printFields(scheme *runtime.Scheme, names []string) error {
	kinds := make([]schema.GroupVersionKind, 0, len(names))
	for _, name := range names {
		parts := strings.Split(name, "/")
		if len(parts) != 3 {
			return fmt.Errorf("%s is no GROUP/VERSION/KIND", name)
		}
		kinds = append(kinds, schema.GroupVersionKind{Group: parts[0], Version: parts[1], Kind: parts[2]})
	}
	lines, err := fields(scheme, kinds)
	if err != nil {
		return err
	}
	fmt.Println(strings.Join(lines, "\n"))
	return nil
}

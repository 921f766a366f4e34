// Command client is a controller written in Go, as most are: it reads, watches and writes every kind that it is given
// with controller-runtime's client and caches. It also knows the protobuf messages that such clients send.
//
//	client fields GROUP/VERSION/KIND…      prints the fields of these kinds' messages
package main

import (
	"fmt"
	"os"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	_ "sigs.k8s.io/controller-runtime/pkg/cache"
	_ "sigs.k8s.io/controller-runtime/pkg/client"
)

func main() {
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
	if len(argv) < 2 {
		return fmt.Errorf("usage: client fields GROUP/VERSION/KIND…")
	}
	kinds := make([]schema.GroupVersionKind, 0, len(argv)-1)
	for _, name := range argv[1:] {
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

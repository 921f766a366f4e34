package main

import (
	"fmt"
	"reflect"
	"sort"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// special are the types with separate formats in protobuf and JSON, with their letters in the table.
var special = map[reflect.Type]string{
	reflect.TypeFor[resource.Quantity]():                            "q",
	reflect.TypeFor[metav1.Time]():                                  "T",
	reflect.TypeFor[metav1.MicroTime]():                             "u",
	reflect.TypeFor[intstr.IntOrString]():                           "o",
	reflect.TypeFor[metav1.FieldsV1]():                              "r",
	reflect.TypeFor[runtime.RawExtension]():                         "r",
	reflect.TypeFor[apiextensionsv1.JSON]():                         "r",
	reflect.TypeFor[apiextensionsv1.JSONSchemaPropsOrBool]():        "B",
	reflect.TypeFor[apiextensionsv1.JSONSchemaPropsOrArray]():       "A",
	reflect.TypeFor[apiextensionsv1.JSONSchemaPropsOrStringArray](): "S",
}

// fields prints the messages in objects of the kinds, one per line, in the format that
// src/local/kubernetes/apiserver/http/protobuf-fields.ts describes.
func fields(scheme *runtime.Scheme, kinds []schema.GroupVersionKind) ([]string, error) {
	messages := map[string]string{}
	for _, kind := range kinds {
		object, err := scheme.New(kind)
		if err != nil {
			return nil, err
		}
		describe(reflect.TypeOf(object).Elem(), messages)
	}
	lines := make([]string, 0, len(messages))
	for name, line := range messages {
		lines = append(lines, name+line)
	}
	sort.Strings(lines)
	return lines, nil
}

func describe(message reflect.Type, messages map[string]string) {
	name := nameOf(message)
	if _, known := messages[name]; known {
		return
	}
	messages[name] = ""
	var line strings.Builder
	for i := range message.NumField() {
		field := message.Field(i)
		tag := strings.Split(field.Tag.Get("protobuf"), ",")
		if len(tag) < 2 {
			continue // the name of the type, which is in the envelope
		}
		json, options, _ := strings.Cut(field.Tag.Get("json"), ",")
		form := formOf(field.Type, packageOf(message), messages)
		if !strings.Contains(options, "omit") && len(form) == 1 && strings.Contains("sit", form) {
			form = "!" + form
		}
		fmt.Fprintf(&line, " %s:%s:%s", tag[1], json, form)
	}
	messages[name] = line.String()
}

func formOf(kind reflect.Type, within string, messages map[string]string) string {
	if letter, known := special[kind]; known {
		if strings.Contains("BAS", letter) {
			describe(reflect.TypeFor[apiextensionsv1.JSONSchemaProps](), messages)
		}
		return letter
	}
	switch kind.Kind() {
	case reflect.Pointer:
		return "*" + formOf(kind.Elem(), within, messages)
	case reflect.Slice:
		if kind.Elem().Kind() == reflect.Uint8 {
			return "y"
		}
		return "[" + formOf(kind.Elem(), within, messages)
	case reflect.Map:
		return "{" + formOf(kind.Elem(), within, messages)
	case reflect.Struct:
		describe(kind, messages)
		if packageOf(kind) == within {
			return "m" + kind.Name()
		}
		return "m" + nameOf(kind)
	case reflect.Bool:
		return "t"
	case reflect.Float64:
		return "d"
	case reflect.String:
		return "s"
	default:
		return "i"
	}
}

func nameOf(kind reflect.Type) string { return packageOf(kind) + "." + kind.Name() }

// packageOf returns the last two elements of a package's path, such as core/v1.
func packageOf(kind reflect.Type) string {
	path := strings.Split(kind.PkgPath(), "/")
	return strings.Join(path[len(path)-2:], "/")
}

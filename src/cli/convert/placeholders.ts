/** Replaces the placeholders of templates, such as `{{ CLUSTER_NAME }}`, by values of the command line. */
import { InvalidArgumentError, Option } from 'commander';

export type Variables = ReadonlyMap<string, string>;

/** `{{ NAME }}`, `{{ .Values.name }}` and `${NAME}`. Other expressions of templates have to be rendered. */
const PLACEHOLDER = /\{\{-? {0,9}\.?(\w+(?:\.\w+){0,9}) {0,9}-?\}\}|\$\{(\w+)\}/g;

/** Replaces placeholders whose name, or the part of the name after the last dot, has a value. */
export const substituted = (text: string, variables: Variables): string =>
  variables.size === 0
    ? text
    : text.replaceAll(PLACEHOLDER, (all: string, braces?: string, dollar?: string) => {
        const name = braces ?? dollar ?? '';
        return variables.get(name) ?? variables.get(name.split('.').at(-1) ?? '') ?? all;
      });

/** Returns the remedy for a template: the options that set its placeholders. */
export function templateRemedy(text: string): string {
  const names = new Set([...text.matchAll(PLACEHOLDER)].map(([, braces, dollar]) => braces ?? dollar ?? ''));
  if (names.size === 0) return 'render it and convert the result';
  return `set its placeholders with ${[...names].map((name) => `--set ${name}=VALUE`).join(' ')}, or render it and convert the result`;
}

function parseVariable(text: string, before: Variables = new Map()): Variables {
  const at = text.indexOf('=');
  if (at < 1) throw new InvalidArgumentError('Expected NAME=VALUE, for example CLUSTER_NAME=dev.');
  return new Map(before).set(text.slice(0, at), text.slice(at + 1));
}

export const setOption = (): Option =>
  new Option('--set <name=value>', 'value of a placeholder such as {{ NAME }} in the input; repeatable')
    .argParser(parseVariable)
    .conflicts(['inPlace']);

/**
 * Jest environment of scenarios on a real control plane: skips scenarios that cannot run there, and extends timeouts.
 */
import { basename } from 'node:path';
import type { EnvironmentContext, JestEnvironmentConfig } from '@jest/environment';
import type { Circus } from '@jest/types';
import SharedEnvironment from '../../support/jest/environment.ts';
import { LEFT_OUT } from './leftout.ts';

/** Factor for timeouts of tests and hooks. */
const PATIENCE = 4;
/** The first hook of a process starts a control plane. */
const DEFAULT_LIMIT_MS = 180_000;

export default class ScenarioEnvironment extends SharedEnvironment {
  readonly #file: string;

  constructor(config: JestEnvironmentConfig, context: EnvironmentContext) {
    super(config, context);
    this.#file = basename(context.testPath);
  }

  handleTestEvent(event: Circus.Event, state: Circus.State): void {
    if (event.name !== 'run_start') return;
    state.testTimeout = DEFAULT_LIMIT_MS;
    const tests = prepared(state.rootDescribeBlock);
    for (const { file, test: start = '' } of LEFT_OUT) {
      if (file !== this.#file) continue;
      const found = tests.filter((test) => nameOf(test).startsWith(start));
      if (found.length === 0) throw new Error(`leftout.ts names "${start}", which ${file} does not have`);
      for (const test of found) test.mode = 'skip';
    }
  }

  override async teardown(): Promise<void> {
    const { leaveStage } = this.global as { readonly leaveStage?: () => void };
    leaveStage?.();
    Reflect.deleteProperty(this.global, 'leaveStage');
    await super.teardown();
  }
}

/** Extends the timeouts of hooks and tests, and returns all tests of the block. */
function prepared(block: Circus.DescribeBlock): readonly Circus.TestEntry[] {
  for (const hook of block.hooks) if (hook.timeout) hook.timeout *= PATIENCE;
  return block.children.flatMap((child) => {
    if (child.type === 'describeBlock') return prepared(child);
    if (child.timeout) child.timeout *= PATIENCE;
    return [child];
  });
}

/** Returns the names of its describe blocks and its own name. */
function nameOf(test: Circus.TestEntry): string {
  const names = [test.name];
  for (let block: Circus.DescribeBlock | undefined = test.parent; block?.parent; block = block.parent)
    names.unshift(block.name);
  return names.join(' ');
}

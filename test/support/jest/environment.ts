/** Jest environment of `runtime.ts`: tests run with Node's own globals, which are restored after each test file. */
import type { EnvironmentContext, JestEnvironment, JestEnvironmentConfig } from '@jest/environment';
import { ModernFakeTimers } from '@jest/fake-timers';
import { ModuleMocker } from 'jest-mock';

/** State that jest-circus shares between its modules. */
const CIRCUS = ['EVENT_HANDLERS', 'JEST_STATE_SYMBOL'];

export default class SharedEnvironment implements JestEnvironment {
  readonly global = globalThis as unknown as JestEnvironment['global'];
  readonly moduleMocker = new ModuleMocker(globalThis);
  readonly fakeTimers = null;
  readonly fakeTimersModern: ModernFakeTimers;
  readonly #before = { console, exit: process.exit, exitCode: process.exitCode, env: { ...process.env } };

  constructor({ projectConfig }: JestEnvironmentConfig, _context: EnvironmentContext) {
    this.fakeTimersModern = new ModernFakeTimers({ config: projectConfig, global: globalThis });
  }

  /** Functions of `jest` that tests can use. */
  get jest(): object {
    const { moduleMocker: mocker, fakeTimersModern: timers } = this;
    return {
      fn: mocker.fn.bind(mocker),
      spyOn: mocker.spyOn.bind(mocker),
      restoreAllMocks: mocker.restoreAllMocks.bind(mocker),
      useFakeTimers: timers.useFakeTimers.bind(timers),
      useRealTimers: timers.useRealTimers.bind(timers),
      setSystemTime: timers.setSystemTime.bind(timers),
      advanceTimersByTime: timers.advanceTimersByTime.bind(timers),
      getTimerCount: timers.getTimerCount.bind(timers),
    };
  }

  async setup(): Promise<void> {}

  async teardown(): Promise<void> {
    this.fakeTimersModern.dispose();
    const { console, exit, exitCode, env } = this.#before;
    Object.assign(globalThis, { console });
    Object.assign(process, { exit, exitCode });
    for (const name of Object.keys(process.env)) if (!Object.hasOwn(env, name)) delete process.env[name];
    Object.assign(process.env, env);
    for (const symbol of Object.getOwnPropertySymbols(globalThis))
      if (CIRCUS.includes(symbol.description ?? '')) Reflect.deleteProperty(globalThis, symbol);
  }

  exportConditions(): string[] {
    return ['node', 'node-addons'];
  }

  getVmContext(): null {
    return null;
  }
}

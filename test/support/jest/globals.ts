/** Exports of `@jest/globals`, which forward to the functions that Jest creates for each test file. */
type Globals = Readonly<Record<string, object>>;

let current: Globals = {};

export function setGlobals(globals: Globals): void {
  current = globals;
}

function forwarded(name: string): unknown {
  return new Proxy(() => {}, {
    apply: (_, self, args) => Reflect.apply(current[name] as () => unknown, self, args),
    get: (_, key) => Reflect.get(current[name] as object, key),
  });
}

export const afterAll = forwarded('afterAll');
export const afterEach = forwarded('afterEach');
export const beforeAll = forwarded('beforeAll');
export const beforeEach = forwarded('beforeEach');
export const describe = forwarded('describe');
export const expect = forwarded('expect');
export const it = forwarded('it');
export const jest = forwarded('jest');

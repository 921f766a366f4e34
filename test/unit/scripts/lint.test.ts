/** The check of workflows, shell scripts and charts, with programs that stand for actionlint and shellcheck. */
import { spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { HELM_VERSION } from '../../cluster/harness/binaries.ts';

const SCRIPT = join(import.meta.dirname, '../../../scripts/lint.ts');
const WORKFLOW = '.github/workflows/check.yml';

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'lint-'));
  write(WORKFLOW, 'on: push');
  write('scripts/run.sh', 'echo good');
  write('.ci/run', 'echo good');
});
afterEach(() => rmSync(folder, { recursive: true }));

const write = (name: string, text: string, mode = 0o644): void => {
  mkdirSync(dirname(join(folder, name)), { recursive: true });
  writeFileSync(join(folder, name), text, { mode });
};

/** Installs a program that prints its name and rejects files that contain `BAD`. */
const install = (tool: string, version: string, path: string): void =>
  write(
    `cache/karpenter-ts/cluster/${tool}-${version}-${process.platform}-${process.arch}/${path}`,
    `#!/bin/sh\necho "ran ${tool}"\nfor file; do case $file in -*) ;; *) if /bin/grep -q BAD "$file"; then exit 1; fi ;; esac; done\n`,
    0o755,
  );
const installBoth = (): void => {
  install('actionlint', '1.7.12', 'actionlint');
  install('shellcheck', '0.11.0.1', 'bin/shellcheck');
};

function lint(env: Readonly<Record<string, string>> = {}) {
  const { status, stdout, stderr } = spawnSync(process.execPath, [SCRIPT, folder], {
    // no toolchain can be found
    env: { PATH: join(folder, 'nothing'), XDG_CACHE_HOME: join(folder, 'cache'), ...env },
    encoding: 'utf8',
  });
  return { status, stdout, stderr };
}

describe('the check of workflows and shell scripts', () => {
  it('passes, and does not check the same files again', () => {
    installBoth();
    expect(lint()).toEqual({ status: 0, stdout: 'ran actionlint\nran shellcheck\n', stderr: '' });
    write('scripts/run.sh', 'echo better');
    expect(lint()).toEqual({ status: 0, stdout: 'ran shellcheck\n', stderr: '' });
  });

  it('fails each time while files are rejected', () => {
    installBoth();
    write(WORKFLOW, 'BAD');
    write('scripts/run.sh', 'BAD');
    const stderr = `actionlint rejects ${WORKFLOW}\nshellcheck rejects .ci/run, scripts/run.sh\n`;
    for (let run = 0; run < 2; run++) expect(lint()).toMatchObject({ status: 1, stderr });
  });

  it('names missing tools with the way to install them, and fails in CI', () => {
    const { status, stderr } = lint();
    expect(status).toBe(0);
    expect(stderr).toMatch(
      /^skipped actionlint 1\.7\.12, which cannot be installed \(.*\); install Go 1\.26 or newer$/m,
    );
    expect(stderr).toMatch(/^skipped shellcheck 0\.11\.0\.1, .*; install Python 3 with pip$/m);
    expect(lint({ CI: 'true' }).status).toBe(1);
  });

  it('checks charts with helm and their rules with promtool, and rejects remarks of helm', () => {
    installBoth();
    write('charts/karpenter/rules.yaml', 'groups: []');
    const without = lint({ CI: 'true' });
    expect(without.status).toBe(1);
    expect(without.stderr).toMatch(/^skipped helm .*; install helm, or Go 1\.26 or newer$/m);
    expect(without.stderr).toMatch(/^skipped promtool .*; install Prometheus, or use Debian or Ubuntu$/m);
    install('helm', HELM_VERSION, 'helm');
    install('prometheus', 'debian', 'promtool');
    expect(lint()).toEqual({ status: 0, stdout: 'ran helm\nran prometheus\n', stderr: '' });
    expect(lint()).toEqual({ status: 0, stdout: '', stderr: '' });
    write('charts/karpenter/rules.yaml', 'BAD');
    const name = `helm-${HELM_VERSION}-${process.platform}-${process.arch}/helm`;
    write(`cache/karpenter-ts/cluster/${name}`, '#!/bin/sh\necho "[INFO] Chart.yaml: icon is recommended"\n', 0o755);
    const { status, stderr } = lint();
    expect(status).toBe(1);
    for (const tool of ['helm', 'promtool']) expect(stderr).toContain(`${tool} rejects charts/karpenter/rules.yaml\n`);
  });

  it('checks workflows without shellcheck, and once more with it', () => {
    install('actionlint', '1.7.12', 'actionlint');
    expect(lint().stdout).toBe('ran actionlint\n');
    installBoth();
    expect(lint().stdout).toBe('ran actionlint\nran shellcheck\n');
  });
});

/** Renders the view of `karpenter top` as HTML for screenshots, with the colors of common terminals. */
import { setTimeout as pause } from 'node:timers/promises';
import { frame, INITIAL, type StyledLine, type StyledText, typesFor, watchCluster } from '#cli/testing';
import { connectReader } from '#kube/connection';
import { realClock } from '#lib/clock';

const COLUMNS = 132;
const ROWS = 30;

interface Source {
  readonly kubeconfig: string;
  /** URL of the operator's metrics port. */
  readonly server: string;
  /** Wait for the first verdicts and prices. */
  readonly settleMs: number;
}

/** Returns the lines that the command draws for a live cluster. */
export async function terminalLines({ kubeconfig, server, settleMs }: Source): Promise<readonly StyledLine[]> {
  const ended = new AbortController();
  const clock = realClock();
  const client = connectReader({ clock, userAgent: 'karpenter-top/screenshot', kubeconfig });
  try {
    const watched = await watchCluster({
      client,
      clock,
      clusterName: 'local',
      signal: ended.signal,
      types: (manifests, nowMs) => typesFor({ instanceTypes: server }, manifests, nowMs),
      operator: async () => server,
    });
    await pause(settleMs);
    const { verdictOf } = watched;
    return frame({
      state: watched.state(),
      choices: INITIAL,
      columns: COLUMNS,
      rows: ROWS,
      verdictOf,
      problem: undefined,
    });
  } finally {
    ended.abort();
    client.close();
  }
}

type Scheme = 'light' | 'dark';

/** Foreground and background, and the colors of spans. */
const COLORS: Readonly<Record<Scheme, Readonly<Record<NonNullable<StyledText['color']> | 'text' | 'back', string>>>> = {
  light: {
    text: '#1f2328',
    back: '#ffffff',
    green: '#1a7f37',
    yellow: '#9a6700',
    red: '#cf222e',
    cyan: '#1b7c83',
    blue: '#0969da',
    magenta: '#8250df',
  },
  dark: {
    text: '#e6edf3',
    back: '#0d1117',
    green: '#3fb950',
    yellow: '#d29922',
    red: '#ff7b72',
    cyan: '#39c5cf',
    blue: '#58a6ff',
    magenta: '#bc8cff',
  },
};

const escaped = (text: string): string => text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');

function spanHtml({ text, color, bold, dim, inverse }: StyledText, colors: (typeof COLORS)[Scheme]): string {
  const [fore, back] = [color === undefined ? colors.text : colors[color], colors.back];
  const styles = [
    inverse ? `color:${back};background:${fore}` : `color:${fore}`,
    ...(bold ? ['font-weight:bold'] : []),
    ...(dim ? ['opacity:0.6'] : []),
  ];
  return `<span style="${styles.join(';')}">${escaped(text)}</span>`;
}

/** Returns a page with one `pre` element. */
export function terminalHtml(lines: readonly StyledLine[], scheme: Scheme): string {
  const colors = COLORS[scheme];
  const text = lines.map((line) => line.map((span) => spanHtml(span, colors)).join('')).join('\n');
  const style = `display:inline-block;margin:0;padding:12px;background:${colors.back};font:13px/1.35 'DejaVu Sans Mono',monospace`;
  return `<!doctype html><meta charset="utf-8"><pre style="${style}">${text}</pre>`;
}

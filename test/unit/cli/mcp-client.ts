/** A scripted client of `karpenter mcp`. */
import { type ChildProcessWithoutNullStreams, spawn } from 'node:child_process';
import { join } from 'node:path';
import { createInterface } from 'node:readline';

const PROGRAM = join(import.meta.dirname, '../../../bin/karpenter.js');

interface Message {
  readonly id?: number;
  readonly result?: unknown;
  readonly error?: { readonly message: string };
}

export interface ToolResult {
  readonly content: readonly { readonly type: string; readonly text: string }[];
  readonly isError?: boolean;
}

export interface McpClient {
  request<T>(method: string, params: object): Promise<T>;
  call(tool: string, values: Readonly<Record<string, string>>): Promise<ToolResult>;
  /** Closes the input of the server, and resolves to its exit code. */
  stop(): Promise<number | null>;
}

export async function startClient(...args: readonly string[]): Promise<McpClient> {
  const server: ChildProcessWithoutNullStreams = spawn(process.execPath, [PROGRAM, 'mcp', ...args]);
  const waiting = new Map<number, (message: Message) => void>();
  createInterface({ input: server.stdout }).on('line', (line) => {
    const message = JSON.parse(line) as Message;
    waiting.get(message.id ?? -1)?.(message);
  });
  const ended = new Promise<number | null>((resolve) => server.on('exit', resolve));
  let last = 0;
  const send = (message: object): void =>
    void server.stdin.write(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`);
  const request = async <T>(method: string, params: object): Promise<T> => {
    last += 1;
    const id = last;
    const answered = new Promise<Message>((resolve) => waiting.set(id, resolve));
    send({ id, method, params });
    const { result, error } = await answered;
    if (error) throw new Error(error.message);
    return result as T;
  };
  await request('initialize', {
    protocolVersion: '2025-06-18',
    capabilities: {},
    clientInfo: { name: 'test', version: '1' },
  });
  send({ method: 'notifications/initialized' });
  return {
    request,
    call: (tool, values) => request<ToolResult>('tools/call', { name: tool, arguments: values }),
    async stop() {
      server.stdin.end();
      return ended;
    },
  };
}

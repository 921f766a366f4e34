/**
 * Command `karpenter completion`. Prints scripts for the completion of commands, options, choices and files in a
 * shell, and the program that completes `kubectl karpenter` in each shell that completes kubectl.
 */
import { Argument, Command } from 'commander';
import { bashScript } from './completion/bash.ts';
import { fishScript } from './completion/fish.ts';
import { KUBECTL_COMPLETION, kubectlScript } from './completion/kubectl.ts';
import { zshScript } from './completion/zsh.ts';
import { type CommandDescription, describeCommand, withExamples } from './describe.ts';

const SCRIPTS: Readonly<Record<string, (root: CommandDescription) => string>> = {
  bash: bashScript,
  zsh: zshScript,
  fish: fishScript,
  kubectl: kubectlScript,
};

/** @param program returns the command line with all commands */
export const completionCommand = (program: () => Promise<Command>): Command =>
  withExamples(
    new Command('completion')
      .description('Print a script for shell completion of commands, options, values and files')
      .addArgument(
        new Argument('<shell>', 'name of the shell, or kubectl for the plugin kubectl karpenter').choices(
          Object.keys(SCRIPTS),
        ),
      )
      .action(async (shell: string) => {
        process.stdout.write(SCRIPTS[shell]?.(describeCommand(await program())) ?? '');
      }),
    [
      { what: 'bash: in the current shell, or in ~/.bashrc', command: 'source <(karpenter completion bash)' },
      { what: 'zsh: in ~/.zshrc, after compinit', command: 'source <(karpenter completion zsh)' },
      { what: 'fish', command: 'karpenter completion fish > ~/.config/fish/completions/karpenter.fish' },
      {
        what: 'kubectl karpenter, in each shell that completes kubectl',
        command: `karpenter completion kubectl > ~/.krew/bin/${KUBECTL_COMPLETION} && chmod +x ~/.krew/bin/${KUBECTL_COMPLETION}`,
      },
    ],
  );

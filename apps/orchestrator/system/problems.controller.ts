import { Controller, Get, Header } from '@nestjs/common';
import { ApiExcludeController } from '@nestjs/swagger';
import { problemsPage } from '#contracts';
import { Public } from '#platform/http';

/** The page that the `type` of every problem points into. */
@ApiExcludeController()
@Controller('docs/problems')
export class ProblemsController {
  @Get()
  @Public()
  @Header('content-type', 'text/html; charset=utf-8')
  page(): string {
    const blocks = problemsPage().trim().split('\n\n').map(block).join('\n');
    return `<!doctype html><html lang="en"><meta charset="utf-8"><title>Problems</title>\n<main>\n${blocks}\n</main></html>\n`;
  }
}

const block = (markdown: string): string => {
  const [, marks, words = markdown] = /^(#{1,2}) (.*)$/.exec(markdown) ?? [];
  const text = words
    .replace(/[&<>]/g, (character) => `&#${String(character.charCodeAt(0))};`)
    .replace(/`([^`]*)`/g, '<code>$1</code>');
  if (marks === undefined) return `<p>${text}</p>`;
  return marks === '#' ? `<h1>${text}</h1>` : `<h2 id="${words.toLowerCase()}">${text}</h2>`;
};

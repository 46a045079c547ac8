/** Breaks a text into lines of at most `width` characters, between words; a longer word has a line of its own. */
export function wrap(text, width) {
  const lines = [];
  let line = '';
  for (const word of text.split(' ')) {
    if (word === '') continue;
    if (line === '') {
      line = word;
    } else if (line.length + word.length <= width) {
      line += ` ${word}`;
    } else {
      lines.push(line);
      line = word;
    }
  }
  if (line !== '') lines.push(line);
  return lines;
}

/** Puts a text in the middle of `width` characters; an odd blank goes to the right. */
export function center(text, width) {
  const left = Math.floor((width - text.length) / 2);
  return ' '.repeat(Math.max(0, left)) + text;
}

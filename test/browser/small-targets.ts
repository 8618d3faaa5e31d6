/**
 * Runs in a page: what can be pressed and is smaller than 24 by 24 CSS pixels. Left out is what
 * stands in a sentence, what fills the box around it, and what nobody sees.
 */
export const smallTargets = `(() => {
  const pressed = 'a[href], button, input, select, textarea, summary, [role=tab], [role=option]';
  const least = 24;
  const isSmall = (one) => {
    const { width, height } = one.getBoundingClientRect();
    // Half a pixel is lost where a page is zoomed.
    return width > 1 && height > 1 && (width < least - 0.5 || height < least - 0.5);
  };
  const isInSentence = (one) => {
    const text = one.closest('p, li, dd');
    return text !== null && text.textContent.trim() !== one.textContent.trim();
  };
  const fillsBox = (one) => getComputedStyle(one, '::after').position === 'absolute';
  return [...document.querySelectorAll(pressed)]
    .filter((one) => isSmall(one) && !isInSentence(one) && !fillsBox(one))
    .map((one) => {
      const { width, height } = one.getBoundingClientRect();
      const name = one.getAttribute('aria-label') ?? one.textContent;
      return one.localName + ' ' + name + ': ' + width + ' by ' + height;
    });
})()`;

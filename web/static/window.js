// A long table of which only a window of rows is there: spacers stand for the rest, scrolling fetches it.
const AHEAD = 60;

export class Window {
  // scroller: scrolls, and says how many rows there are and how many come at a time. rows: the tbody.
  // fetchRows: swaps in the rows from one on; it also sets the tbody's data-begin and data-found.
  constructor(scroller, rows, fetchRows) {
    Object.assign(this, { scroller, rows, fetchRows, many: Number(scroller.dataset.rows), busy: null });
    this.height = 0;
    document.querySelector(".paging")?.remove();
    scroller.addEventListener("scroll", () => this.moved(), { passive: true });
    this.space();
    if (this.begin) this.scroller.scrollTop = this.begin * this.height;
  }

  get begin() {
    return Number(this.rows.dataset.begin);
  }

  get found() {
    return Number(this.rows.dataset.found);
  }

  // Puts the height of the rows that are not there above and below.
  space() {
    const here = [...this.rows.children];
    if (here.length && this.found > this.many) this.height = here[0].getBoundingClientRect().height || this.height;
    const spacer = (count) => {
      const row = document.createElement("tr");
      row.className = "spacer";
      row.setAttribute("aria-hidden", "true");
      row.innerHTML = `<td style="height:${count * this.height}px"></td>`;
      return row;
    };
    if (this.found <= this.many) return;
    const below = Math.max(0, this.found - this.begin - here.length);
    if (this.begin) this.rows.prepend(spacer(this.begin));
    if (below) this.rows.append(spacer(below));
  }

  async renew(begin = this.begin) {
    const last = Math.max(0, this.found - 1);
    await this.fetchRows(Math.min(begin, last));
    this.space();
  }

  moved() {
    if (!this.height || this.busy) return;
    const first = Math.floor(this.scroller.scrollTop / this.height);
    const last = first + Math.ceil(this.scroller.clientHeight / this.height);
    const there = first >= this.begin && last <= Math.min(this.begin + this.many, this.found);
    if (there) return;
    const begin = Math.max(0, Math.min(first - AHEAD, this.found - this.many));
    this.busy = this.renew(begin).finally(() => {
      this.busy = null;
      this.moved(); // somebody may have scrolled on
    });
  }
}

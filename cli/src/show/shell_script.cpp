// SPDX-License-Identifier: Apache-2.0
#include <string_view>

#include "completion.hpp"
#include "farfault/engine/error.hpp"

namespace farfault::cli {
namespace {

constexpr std::string_view kBash =
    R"--(# bash completion for farfault, as `farfault completion bash` writes it
_farfault() {
  local line word text ending i glue= words=()
  # bash splits words at "=".
  for ((i = 1; i <= COMP_CWORD; i++)); do
    word=${COMP_WORDS[i]}
    if [[ $word == = || $glue ]] && ((${#words[@]} > 0)); then
      words[-1]+=$word
    else
      words+=("$word")
    fi
    [[ $word == = ]] && glue=1 || glue=
  done
  # Only the text after the last "=" is replaced.
  local whole=${words[-1]} typed=
  [[ $whole == *=* ]] && typed=${whole%=*}=
  local value=${whole#"$typed"}
  [[ $COMP_WORDBREAKS == *=* ]] || typed=
  COMPREPLY=()
  while IFS= read -r line; do
    case $line in
      :folders)
        compopt -o filenames
        while IFS= read -r word; do COMPREPLY+=("$word"); done < <(compgen -d -- "$value")
        ;;
      :files*)
        compopt -o filenames
        read -r -a ending <<<"${line#:files}"
        while IFS= read -r word; do
          if [[ -d $word || ${#ending[@]} -eq 0 ]]; then
            COMPREPLY+=("$word")
          else
            for text in "${ending[@]}"; do [[ $word == *"$text" ]] && COMPREPLY+=("$word"); done
          fi
        done < <(compgen -f -- "$value")
        ;;
      *)
        word=${line%%$'\t'*}
        COMPREPLY+=("${word#"$typed"}")
        ;;
    esac
  done < <("${COMP_WORDS[0]}" completion words -- "${words[@]}" 2>/dev/null)
  [[ ${#COMPREPLY[@]} -eq 1 && ${COMPREPLY[0]} == *= ]] && compopt -o nospace
  return 0
}
complete -F _farfault farfault
)--";

constexpr std::string_view kZsh = R"--(#compdef farfault
# zsh completion for farfault, as `farfault completion zsh` writes it
_farfault() {
  local line word text ending
  local -a plain plain_text open open_text
  for line in ${(f)"$(${(Q)words[1]} completion words -- ${(Q)words[2,CURRENT]} 2>/dev/null)"}; do
    case $line in
      :folders) _files -/ ;;
      :files) _files ;;
      :files*) _files -g "*(${(j:|:)${=line#:files}})(-.)" ;;
      *)
        word=${line%%$'\t'*} text=${line#*$'\t'}
        if [[ $word == *= ]]; then
          open+=("$word") open_text+=("$word  $text")
        else
          plain+=("$word") plain_text+=("$word  $text")
        fi
        ;;
    esac
  done
  (($#plain)) && compadd -l -d plain_text -a plain
  (($#open)) && compadd -l -S '' -d open_text -a open
  return 0
}
if [[ $funcstack[1] == _farfault ]]; then
  _farfault "$@"
else
  compdef _farfault farfault
fi
)--";

constexpr std::string_view kFish =
    R"--(# fish completion for farfault, as `farfault completion fish` writes it
function __farfault_words
  set -l words (commandline -opc) (commandline -ct)
  for line in ($words[1] completion words -- $words[2..-1] 2>/dev/null)
    switch $line
      case ':folders'
        __fish_complete_directories (commandline -ct) ''
      case ':files'
        __fish_complete_path (commandline -ct) ''
      case ':files*'
        __fish_complete_directories (commandline -ct) ''
        for ending in (string split ' ' -- $line)[2..-1]
          __fish_complete_suffix $ending
        end
      case '*'
        echo $line
    end
  end
end
complete -c farfault -f -a '(__farfault_words)'
)--";

}  // namespace

std::string shell_script(std::string_view shell) {
  if (shell == "bash") return std::string(kBash);
  if (shell == "zsh") return std::string(kZsh);
  if (shell == "fish") return std::string(kFish);
  throw UserError("'" + shown(shell) + "' is not one of: bash, zsh, fish");
}

}  // namespace farfault::cli
